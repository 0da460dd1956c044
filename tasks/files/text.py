"""What sources ask of files: that they are there, that they are UTF-8, whether they changed."""

from collections.abc import Iterable
from pathlib import Path

from infra.errors import SettingsError, SourceError
from infra.identity import digest_of
from infra.settings import SourceSettings


def refuse(settings: SourceSettings, *fields: str) -> None:
    """Raise a `SettingsError` when a setting is given that the source has no use for."""
    for field in fields:
        if getattr(settings, field) is not None:
            raise SettingsError(
                f"source {settings.name} has no use for source.{field} = "
                f"{getattr(settings, field)}: leave it out"
            )


def folder_of(settings: SourceSettings, holds: str) -> Path:
    """Return ``settings.path``, which must be a folder.

    Args:
        settings: The source's settings.
        holds: What the folder should hold, for the message.

    Raises:
        SettingsError: No path was given.
        SourceError: There is no such folder.
    """
    if settings.path is None:
        raise SettingsError(
            f"source {settings.name} needs source.path, a folder with {holds}: give --path"
        )
    if not settings.path.is_dir():
        raise SourceError(f"{settings.path} is no folder: source {settings.name} reads {holds}")
    return settings.path


def read_text(file: Path) -> str:
    """Return a file's text.

    Raises:
        SourceError: The file is missing, cannot be read or is not UTF-8.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SourceError(f"{file} cannot be read: {error.strerror}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SourceError(
            f"{file}:{line}: byte 0x{content[error.start]:02x} is not UTF-8: convert the file, "
            "for example with iconv -t UTF-8"
        ) from None


def state_of(files: Iterable[Path]) -> str:
    """Return a digest of the paths, sizes and times of change of files, whatever their order.

    Raises:
        SourceError: A file is missing.
    """
    try:
        states = [(file, file.stat()) for file in sorted(files)]
    except OSError as error:
        raise SourceError(f"{error.filename} cannot be read: {error.strerror}") from None
    return digest_of([[str(file), state.st_size, state.st_mtime_ns] for file, state in states])
