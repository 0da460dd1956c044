"""A case: a query, a function that answers it, and the calls that prove which code does."""

import ast
import importlib.util
import tomllib
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).parent
_FILES = ("texts.toml", "numbers.toml", "lists.toml")


class Case(NamedTuple):
    """A query with code that answers it and code that does not.

    Attributes:
        query: The query.
        calls: Arguments of calls whose values the query demands, as source, one call a line.
        function: ``module:name`` of an installed package's function that answers it; "" for own
            code. Its text is read, nothing of the package is imported.
        code: Own code that answers it, where no package has such a function.
        wider: Code that answers it and more.
        narrower: Code that answers only a part of it.
    """

    query: str
    calls: str
    function: str = ""
    code: str = ""
    wider: str = ""
    narrower: str = ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of each call, as source."""
        return tuple(self.calls.splitlines())

    @property
    def answer(self) -> str:
        """The code that answers the query, as it stands in its package."""
        return self.code or _text_of(self.function)


def load_cases() -> tuple[Case, ...]:
    """Return all cases, in the order of the files."""
    tables = (tomllib.loads((_FOLDER / name).read_text(encoding="utf-8")) for name in _FILES)
    return tuple(Case(**case) for table in tables for case in table["case"])


def _text_of(function: str) -> str:
    module, name = function.split(":")
    text = _file_of(module).read_text(encoding="utf-8")
    node = next(
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    lines = text.splitlines(keepends=True)[node.lineno - 1 : node.end_lineno]
    return "".join(lines)


def _file_of(module: str) -> Path:
    """Return the file of a module without importing the packages that it is in."""
    top, *rest = module.split(".")
    found = importlib.util.find_spec(top)
    assert found, f"{top} is not installed"
    assert found.origin, f"{top} has no file"
    if not rest:
        return Path(found.origin)
    file = Path(found.origin).parent.joinpath(*rest)
    return file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
