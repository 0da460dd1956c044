"""Text files: their content as UTF-8, and a digest that shows changes.

By Python's own files and gzip: pyarrow's streams, which decompress too, read no lines.
"""

import gzip
import os
import unicodedata
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator
from pathlib import Path
from stat import S_ISREG
from typing import IO, cast

from infra.errors import SourceError
from infra.files import leads_outside
from infra.identity import mark_of

UNREADABLE = (OSError, EOFError, zlib.error)  # what reading a file, or its gzip, raises
_UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # of xlsx and ods, and of xls
_LARGEST_TEXT = 1 << 29  # bytes; such a file must fit into memory


def read_text(file: Path) -> str:
    """Return the text of a file in UTF-8, or in the UTF-16 of a spreadsheet.

    Raises:
        SourceError: The file is missing, no file, of more than 512 MiB, cannot be read or is
            neither.
    """
    try:
        size = regular(file).stat().st_size
        if size > _LARGEST_TEXT:
            raise SourceError(
                f"{printable(file)} has {size:,} bytes, more than the {_LARGEST_TEXT:,} of a file "
                "that is read at once: divide it, or give the right one"
            )
        content = file.read_bytes()
    except OSError as error:
        raise SourceError(f"{printable(file)} cannot be read: {error.strerror}") from None
    _refuse_workbook(file, content)
    try:
        return content.decode("utf-16" if content.startswith(_UTF_16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SourceError(f"{printable(file)}:{line}: {not_utf_8(error)}") from None


def _refuse_workbook(file: Path, content: bytes) -> None:
    if content.startswith(_WORKBOOKS):
        raise SourceError(
            f"{printable(file)} is a workbook or an archive, whatever its name says: open it with "
            "a spreadsheet, save it as CSV in UTF-8 (Save As), and give that file"
        )


def regular(file: Path) -> Path:
    """Return a path that must be a file: a named pipe would be waited for, maybe for ever.

    Raises:
        SourceError: It is missing, or a folder, a pipe or a device.
    """
    try:
        mode = file.stat().st_mode
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else error
        raise SourceError(f"{printable(file)} cannot be read: {problem}") from None
    if not S_ISREG(mode):
        raise SourceError(
            f"{printable(file)} cannot be read: it is no file but a folder, a pipe or a device"
        )
    return file


_LONGEST_LINE = 1 << 28  # bytes; a file without line ends must not fill the memory
_MOST_TIMES = 100  # JSON Lines are 5 to 20 times as long as their gzip
_BOM = b"\xef\xbb\xbf"


def read_text_lines(file: Path, longest: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, which need not fit into memory, with their numbers from 1.

    Args:
        file: UTF-8; compressed if its name ends with ``.gz``.
        longest: The most bytes of a line, 256 MiB if 0.

    Raises:
        SourceError: The file is missing, cannot be read, is cut short or no gzip, is not UTF-8,
            has a line of more than ``longest``, or is more than 256 MiB and 100 times its gzip.
    """
    number, size, longest = 0, 0, longest or _LONGEST_LINE
    try:
        most = max(_LONGEST_LINE, _MOST_TIMES * regular(file).stat().st_size)
        with opened(file) as stream:
            while line := stream.readline(longest):
                number += 1
                size += len(line)
                if size > most and file.suffix == ".gz":
                    raise SourceError(
                        f"{printable(file)}:{number}: the compressed file is more than "
                        f"{_MOST_TIMES} times as long uncompressed, as no file of texts is: "
                        "decompress it yourself if it is one"
                    )
                if len(line) == longest:
                    raise SourceError(
                        f"{printable(file)}:{number}: a line of more than {longest:,} bytes: is "
                        "this file text?"
                    )
                yield number, _decoded(file, number, line)
    except (EOFError, zlib.error) as error:
        raise SourceError(
            f"{printable(file)}:{number + 1}: the compressed file is cut short or damaged "
            f"({error}): copy it again"
        ) from None
    except OSError as error:
        raise SourceError(f"{printable(file)} cannot be read: {error.strerror or error}") from None


def opened(file: Path) -> IO[bytes]:
    """Return a file's bytes as a stream, decompressed if its name ends with ``.gz``."""
    return cast("IO[bytes]", gzip.open(file)) if file.suffix == ".gz" else file.open("rb")


def packed_or_not(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a folder that fit a pattern, also those compressed by gzip, by name.

    Raises:
        SourceError: A file is there in both forms, and would count twice; or as for `inside`.
    """
    files = inside(folder, (*folder.glob(pattern), *folder.glob(f"{pattern}.gz")))
    for file in files:
        if file.with_name(f"{file.name}.gz") in files:
            raise SourceError(
                f"{printable(file)} is there compressed too, and what it holds would count twice: "
                "move one of the two away"
            )
    return files


def file_named(folder: Path, name: str) -> Path:
    """Return a file of a folder by its name, compressed or not, missing or not.

    Raises:
        SourceError: As of `packed_or_not`.
    """
    return [*packed_or_not(folder, name), folder / name][0]


def inside(folder: Path, files: Iterable[Path]) -> list[Path]:
    """Return paths in a folder, sorted, of which none may lead outside of it.

    Raises:
        SourceError: One is, or lies behind, a link that leads outside.
    """
    files = sorted(files)
    if outside := [file for file in files if leads_outside(file, folder)]:
        raise SourceError(
            f"{printable(outside[0])} is, or lies behind, a link that leads outside of "
            f"{printable(folder)} ({len(outside):,} in all): put the file itself there, or name "
            "the folder that has it"
        )
    return files


def _decoded(file: Path, number: int, line: bytes) -> str:
    if number == 1:
        _refuse_workbook(file, line)
        line = line.removeprefix(_BOM)
    try:
        return line.removesuffix(b"\n").decode()
    except UnicodeDecodeError as error:
        raise SourceError(f"{printable(file)}:{number}: {not_utf_8(error)}") from None


def not_utf_8(error: UnicodeDecodeError) -> str:
    """Return a text's fault and its remedy."""
    is_utf_16 = error.object.startswith(_UTF_16)
    remedy = "-f UTF-16 -t UTF-8" if is_utf_16 else "-f CP1252 -t UTF-8 if it comes from Windows"
    byte = error.object[error.start]
    return f"byte 0x{byte:02x} is not UTF-8: convert the file, with iconv {remedy}"


def state_of(files: Iterable[Path]) -> str:
    """Return a digest of the files' names, sizes and times of change, in any order.

    A name is the path from the folder that all files are in: wherever that is, and however it is
    named, the digest is the same.

    Raises:
        SourceError: A file is missing.
    """
    places = sorted(file.absolute() for file in files)
    folder = os.path.commonpath([file.parent for file in places]) if places else ""
    try:
        states = [(printable(file.relative_to(folder)), file.stat()) for file in places]
    except OSError as error:
        raise SourceError(f"{printable(error.filename)} cannot be read: {error.strerror}") from None
    return mark_of([[name, state.st_size, state.st_mtime_ns] for name, state in states])


def printable(path: Path | str) -> str:
    """Return a path as text in which bytes that are not UTF-8 are escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def one_line(text: str) -> str:
    """Return a text as one line, without control characters and others that hide what it says."""
    kept = (" " if unicodedata.category(sign)[0] == "C" else sign for sign in text)
    return " ".join("".join(kept).split())


def require_folder(path: Path, option: str = "--path, --queries or --codes") -> Path:
    """Return a path that must be a folder, and that an option gives.

    Raises:
        SourceError: There is no such folder.
    """
    if not path.is_dir():
        raise SourceError(f"{path}: no such folder; give one that is there to {option}")
    return path
