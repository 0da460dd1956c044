"""Identifiers: their types, and digests by SHA-256 that they are made of.

Each kind of identifier has a type, so that the type checker refuses one in place of another.

A digest stands for content that others may choose: texts, requests, labels. A mark stands for what
only we choose: settings, models, recipes, files by size and time. Stores, folders and files of what
was spent are called by marks, and those keep the length that they had. The program's own text has a
mark too, as a part of what its results depend on.
"""

import hashlib
import importlib
import importlib.metadata
import json
import platform
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple, NewType

QueryId = NewType("QueryId", str)
CodeId = NewType("CodeId", str)
SearchId = NewType("SearchId", str)
RecipeId = NewType("RecipeId", str)
BenchmarkId = NewType("BenchmarkId", str)
SampleId = NewType("SampleId", str)
DIGITS = 32  # 128 bits: two contents with one digest take 2**64 trials, which nobody makes
MARK_DIGITS = 20  # 80 bits
_NO_TEXT = {"__pycache__", ".md"}


class PairKey(NamedTuple):
    """Ids of a query and of a code that may answer it."""

    query_id: QueryId
    code_id: CodeId


def digest(*parts: str, digits: int = DIGITS) -> str:
    """Return hexadecimal digits of SHA-256 over the parts; other borders give other digits."""
    state = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        state.update(len(encoded).to_bytes(8, "big"))
        state.update(encoded)
    return state.hexdigest()[:digits]


def digest_of(value: object, digits: int = DIGITS) -> str:
    """Return the digest of a JSON-serialisable value, in any order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return digest(text, digits=digits)


def digest_of_set(items: Iterable[str]) -> str:
    """Return the digest of a set of strings, in any order."""
    return digest(*sorted(set(items)))


def mark(*parts: str) -> str:
    """Return the mark of parts: the first 20 digits of their digest."""
    return digest(*parts, digits=MARK_DIGITS)


def mark_of(value: object) -> str:
    """Return the mark of a JSON-serialisable value, in any order of its keys."""
    return digest_of(value, MARK_DIGITS)


@cache
def program_digest(names: tuple[str, ...], libraries: tuple[str, ...] = ()) -> str:
    """Return a digest that differs whenever the text of modules, or what runs it, differs.

    Args:
        names: Modules, with files beside them of the same name, as of SQL; and packages with all
            files below their folders, templates included, but for pages.
        libraries: Distributions whose versions count; the interpreter's always does.
    """
    files: list[Path] = []
    for name in names:
        module = importlib.import_module(name)
        for folder in getattr(module, "__path__", ()):
            found = (file for file in sorted(Path(folder).rglob("*")) if file.is_file())
            files += (file for file in found if not {file.parent.name, file.suffix} & _NO_TEXT)
        if not hasattr(module, "__path__"):
            source = Path(str(module.__file__))
            files += sorted(source.parent.glob(f"{source.stem}.*"))
    texts = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return mark(platform.python_version(), *map(_version, libraries), *texts)


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return ""
