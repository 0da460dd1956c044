"""The program's own text, as a part of what its results depend on."""

import hashlib
import importlib
import importlib.metadata
import platform
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from infra.identity import mark

_NO_TEXT = {"__pycache__", ".md"}


@cache
def program_digest(names: tuple[str, ...], libraries: tuple[str, ...] = ()) -> str:
    """Return a digest that differs whenever the text of modules, or what runs it, differs.

    Args:
        names: Modules, with files beside them of the same name, as of SQL; and packages with all
            files below their folders, templates included, but for pages.
        libraries: Distributions whose versions count; the interpreter's always does.
    """
    texts = [hashlib.sha256(file.read_bytes()).hexdigest() for file in _files(names)]
    return mark(platform.python_version(), *map(_version, libraries), *texts)


def _files(names: Sequence[str]) -> Iterator[Path]:
    for name in names:
        module = importlib.import_module(name)
        for folder in getattr(module, "__path__", ()):
            found = (file for file in sorted(Path(folder).rglob("*")) if file.is_file())
            yield from (file for file in found if not {file.parent.name, file.suffix} & _NO_TEXT)
        if not hasattr(module, "__path__"):
            file = Path(str(module.__file__))
            yield from sorted(file.parent.glob(f"{file.stem}.*"))


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return ""
