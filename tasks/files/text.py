"""Text files: their content as UTF-8, and a digest that shows changes."""

from collections.abc import Iterable
from pathlib import Path

from infra.errors import SourceError
from infra.identity import digest_of


def read_text(file: Path) -> str:
    """Return a file's text.

    Raises:
        SourceError: The file is missing, cannot be read or is not UTF-8.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SourceError(f"{printable(file)} cannot be read: {error.strerror}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SourceError(
            f"{printable(file)}:{line}: byte 0x{content[error.start]:02x} is not UTF-8: convert "
            "the file, for example with iconv -t UTF-8"
        ) from None


def state_of(files: Iterable[Path]) -> str:
    """Return a digest of the files' paths, sizes and times of change, in any order.

    Raises:
        SourceError: A file is missing.
    """
    try:
        states = [(printable(file), file.stat()) for file in sorted(files)]
    except OSError as error:
        raise SourceError(f"{printable(error.filename)} cannot be read: {error.strerror}") from None
    return digest_of([[name, state.st_size, state.st_mtime_ns] for name, state in states])


def printable(path: Path | str) -> str:
    """Return a path as text in which bytes that are not UTF-8 are escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode()
