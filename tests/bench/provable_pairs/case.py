"""A case: a query, a function that answers it, and the calls that prove which code does."""

import ast
import importlib.util
import symtable
import tomllib
from pathlib import Path
from typing import NamedTuple

from infra.languages.python.scaffolding import undefined_names
from infra.languages.python.translation import translated

_FOLDER = Path(__file__).parent
_FILES = {"made": ("texts.toml", "numbers.toml", "lists.toml"), "real": ("real.toml",)}


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
        beside: Source of what the codes use and do not bind.
        adapter: A function ``answer`` that takes the arguments of a call, "" where the code does.
        effect: ``prints``, ``prints lines`` or ``writes`` where the query demands that, not what is
            returned; of what is printed by words, blanks and lines do not count.
        program: Tests of what the query demands, without the import of what they test; they are
            right for every code of the case.
    """

    query: str
    calls: str
    function: str = ""
    code: str = ""
    wider: str = ""
    narrower: str = ""
    beside: str = ""
    adapter: str = ""
    effect: str = ""
    program: str = ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of each call, as source."""
        return tuple(self.calls.splitlines())

    @property
    def answer(self) -> str:
        """The code that answers the query, as it stands in its package."""
        return self.code or _text_of(self.function)

    def beside_of(self, code: str) -> str:
        """Return what a code of the case lacks of ``beside``, with what that needs in turn."""
        return parts_for(translated(code), self.beside)

    def adapter_of(self, code: str) -> str:
        """Return the function ``answer`` for a code of the case."""
        called = f"def answer(*values):\n    return {name_in(code)}(*values)"
        return self.adapter.strip() or called


def load_cases(*sets: str) -> tuple[Case, ...]:
    """Return the cases of the sets, in the order of the files.

    Args:
        sets: Of ``made``, codes that run as they stand, and ``real``, codes torn out of projects.
    """
    names = [name for one in sets for name in _FILES[one]]
    tables = (tomllib.loads((_FOLDER / name).read_text(encoding="utf-8")) for name in names)
    return tuple(Case(**case) for table in tables for case in table["case"])


def name_in(code: str) -> str:
    """Return the name of the function in a code."""
    body = ast.parse(translated(code)).body
    return next(node.name for node in body if isinstance(node, ast.FunctionDef))


def parts_for(code: str, source: str) -> str:
    """Return the statements of a source that bind what a code lacks, or what these lack in turn."""
    statements = [ast.unparse(statement) for statement in ast.parse(source).body]
    lacking, kept = set(undefined_names(code)), set[str]()
    while more := {
        text for text in statements if text not in kept and lacking & {*names_bound_by(text)}
    }:
        kept |= more
        lacking = {name for text in more for name in undefined_names(text)}
    return "\n".join(text for text in statements if text in kept)


def names_bound_by(source: str) -> list[str]:
    """Return the names that source binds at its top level."""
    names = symtable.symtable(source, "beside", "exec").get_symbols()
    return [one.get_name() for one in names if one.is_assigned() or one.is_imported()]


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
