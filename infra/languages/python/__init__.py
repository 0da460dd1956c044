"""Python source code by its syntax tree; nothing is imported and nothing runs.

Who reads Python outside this folder imports it from here: claims, adapters and test programs of
Python's box are Python. A code's own language (`infra.languages.Language`) is asked for all else.
"""

import ast
import io
import keyword
import re
import textwrap
import tokenize

from infra.languages import Language, languages
from infra.languages.python import functions, mutation, scaffolding, syntax, translation, variants
from infra.languages.python.failures import (
    Frame,
    Raised,
    assertions_in,
    assertions_of,
    exceptions_in,
    is_weak,
    without_messages,
)
from infra.languages.python.scaffolding import (
    SELF_STUB,
    DottedNames,
    bound_names,
    import_statements,
    joined,
    names_bound_by,
    scaffolded,
    undefined_names,
    with_imports,
)
from infra.languages.python.syntax import (
    UNREADABLE,
    FunctionNode,
    is_deep,
    parse,
    parse_or_none,
    variable_of,
)

__all__ = [
    "SELF_STUB",
    "UNREADABLE",
    "DottedNames",
    "Frame",
    "FunctionNode",
    "Python",
    "Raised",
    "assertions_in",
    "assertions_of",
    "ast",
    "bound_names",
    "exceptions_in",
    "import_statements",
    "is_deep",
    "is_weak",
    "joined",
    "names_bound_by",
    "parse",
    "parse_or_none",
    "scaffolded",
    "undefined_names",
    "variable_of",
    "with_imports",
    "without_messages",
]

_STRING = r"""[rbfuRBFU]{0,2}(?:'{3}.*?'{3}|"{3}.*?"{3}|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")"""
_TOKEN = re.compile(rf"#[^\n]*|({_STRING}|\w+|[^\w\s])", re.DOTALL)


@languages.register("python")
class Python(Language):
    """Python 3, as this interpreter reads it."""

    name = "python"
    title = "Python"
    suffixes = (".py",)
    keywords = frozenset(keyword.kwlist)
    left_out_folders = frozenset()
    receivers = frozenset({"self", "cls"})
    is_executed = True
    normalised = staticmethod(syntax.normalised)
    functions_of = staticmethod(functions.functions_of)
    translated = staticmethod(translation.translated)
    signature_of = staticmethod(functions.signature_of)
    scaffolded = staticmethod(scaffolded)
    with_support_code = staticmethod(scaffolding.with_support_code)
    undefined_names = staticmethod(undefined_names)
    self_attributes = staticmethod(scaffolding.self_attributes)
    mutants_of = staticmethod(mutation.mutants_of)
    strong_mutants_of = staticmethod(mutation.strong_mutants_of)
    in_layout = staticmethod(mutation.in_layout)
    stopping_at = staticmethod(variants.stopping_at)
    unseen = ("unseen",)
    filled = ("full", "full of anything")
    returning = staticmethod(variants.returning)
    renamed_equivalent = staticmethod(variants.renamed_equivalent)

    def is_valid(self, code: str) -> bool:
        """Return True if a piece of code, a statement will do, can be parsed."""
        return parse_or_none(code) is not None

    def calls(self, code: str) -> list[str]:
        """Return the names that code calls, inner calls first; of no valid Python nothing."""
        tree = parse_or_none(textwrap.dedent(code))
        found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree else []
        found.sort(key=lambda call: (call.end_lineno, call.end_col_offset))
        names = (getattr(call.func, "attr", getattr(call.func, "id", None)) for call in found)
        return [name for name in names if name]

    def decoded(self, content: bytes) -> str:
        """Return a file's text in the encoding that it declares."""
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        return io.TextIOWrapper(io.BytesIO(content), encoding).read()

    def is_special(self, name: str) -> bool:
        """Return True if a name is that of a constructor or another method that Python calls."""
        last = name.rpartition(".")[2]
        return last.startswith("__") and last.endswith("__")

    def tokens(self, code: str) -> list[str]:
        """Return names, literals and operators; a string is one token, and comments are none."""
        return list(filter(None, _TOKEN.findall(code)))
