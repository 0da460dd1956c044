"""Fixtures of claims: files, variables, a program's arguments and output.

This module's text is part of each program of claims that needs it, so it imports nothing of ours.
All files lie in one folder, which is empty when a claim begins.
"""

import io
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path("/tmp/claim")  # noqa: S108 - within a box
FILE_NAME, FOLDER_NAME = "file.txt", "folder"  # where none is given
FIXTURES = {"file", "folder", "stream", "environ", "argv"}
LONGEST_READ = 100_000  # bytes of a file
VARIABLES = dict(os.environ)
PRINTED = io.BytesIO()
STREAM = io.TextIOWrapper(PRINTED, "utf-8", write_through=True)

Content = str | bytes | None  # of a file; None where there is none


def reset_fixtures() -> None:
    """Begin a claim: no file, variable, argument or printed text of another one is left."""
    FOLDER.mkdir(exist_ok=True)
    os.chdir(FOLDER)
    for place in FOLDER.iterdir():
        is_folder = place.is_dir() and not place.is_symlink()
        (shutil.rmtree if is_folder else os.remove)(place)
    os.environ.clear()
    os.environ.update(VARIABLES)
    sys.argv[:] = ["program.py"]
    sys.stdout = STREAM
    STREAM.seek(0)
    STREAM.truncate()


def file(content: str | bytes, name: str = FILE_NAME, time: float | None = None) -> str:
    """Return the path of a file with a content, changed last at a time in seconds."""
    path = FOLDER / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    if time is not None:
        os.utime(path, (0, time))  # what is asked for is no time of access
    return str(path)


class StringStream(io.StringIO):
    """A text that is written to; ``flushed`` says whether nothing came after it was flushed."""

    flushed = False

    def write(self, text: str) -> int:
        """Write a text."""
        self.flushed = False
        return super().write(text)

    def flush(self) -> None:
        """Note that all is flushed."""
        self.flushed = True


stream = StringStream  # open at its begin


def folder(parts: Mapping[str, object], name: str = FOLDER_NAME) -> str:
    """Return the path of a folder; of its parts, texts and bytes are files, others are folders."""
    (FOLDER / name).mkdir()
    for part, content in parts.items():
        if isinstance(content, Mapping):
            folder(content, f"{name}/{part}")
        elif isinstance(content, str | bytes):
            file(content, f"{name}/{part}")
    return str(FOLDER / name)


def environ(**variables: str) -> None:
    """Set environment variables for one claim."""
    os.environ.update(variables)


def argv(*words: str) -> None:
    """Set the program's arguments, its name first, for one claim."""
    sys.argv[:] = words


def normalise_output(value: object, *, by_lines: bool = False) -> object:
    """Return a printed text, or name → content of files, in the form that is compared.

    Of the text the words count, with ``by_lines`` the lines too, as in files.
    """
    if isinstance(value, Mapping):
        return [[name, normalise_output(value[name], by_lines=True)] for name in sorted(value)]
    if isinstance(value, str):
        lines = "\n".join(map(str.rstrip, value.splitlines())).rstrip("\n")
        return lines if by_lines else " ".join(value.split())
    return value


def actual_output(
    given: object, expected: str | Mapping[str, Content], *, by_lines: bool = False
) -> object:
    """Return the observed effect of a call in normalised form, else its exception.

    That is the printed text where a text is expected.
    """
    if isinstance(given, tuple) and given[:1] == ("raises",):
        return given
    if isinstance(expected, str):
        return normalise_output(PRINTED.getvalue().decode(errors="replace"), by_lines=by_lines)
    return normalise_output({name: content_of(name, like) for name, like in expected.items()})


def content_of(name: str, like: Content) -> Content:
    """Return a file's content, as bytes where that is wanted; of a folder, that it is one."""
    path = FOLDER / name
    if path.is_dir():
        return "a folder"
    try:
        with path.open("rb") as stream:
            data = stream.read(LONGEST_READ)
    except FileNotFoundError:
        return None
    return data if isinstance(like, bytes) else data.decode(errors="replace")
