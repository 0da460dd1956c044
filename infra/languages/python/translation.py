"""Code of Python 2, or of old libraries, in today's, by fissix (lib2to3); nothing of it runs."""

import ast
import re
from functools import cache
from typing import Any

from infra.languages.python.syntax import UNREADABLE, parse_or_none

# Those whose change keeps the meaning; what else is gone the scaffolding gives (`xrange`, `cmp`).
_FIXES = (
    "dict", "except", "exec", "filter", "has_key", "map", "ne", "numliterals", "print", "raise",
    "repr", "zip",
)  # fmt: skip
_GONE = {  # what libraries had when codes were written → what they have in its place
    r"\b(?:np|numpy)\.(int|float|complex|bool|object|str)\b": r"\1",
    r"\b(np|numpy)\.NaN\b": r"\1.nan",
    r"\bscipy\.ndimage\.(?:filters|interpolation|measurements|morphology)\.": "scipy.ndimage.",
    r"\bcollections\.(?=(?:Mutable)?(?:Mapping|Sequence|Set)\b|Iterable\b)": "collections.abc.",
    r"\byaml\.load\((?=[^(),]+(?:\([^()]*\))?\))": "yaml.unsafe_load(",
    r"\bstring\.(letters|lowercase|uppercase)\b": r"string.ascii_\1",
}
_LONGEST = 100_000  # characters that are read
# Expressions that begin with one of their parts.
_LEFT_FIRST = (ast.Attribute, ast.BinOp, ast.Call, ast.Compare, ast.Subscript, ast.Tuple)
_OLD = re.compile(r"\.(?:iter(?:items|keys|values)|has_key)\(|\bcmp\s*=")


def translated(code: str) -> str:
    """Return the code in Python 3, where it can be read, with names that libraries have today."""
    if len(code) > _LONGEST:
        return code
    made = _of_python_3(code)
    for gone, there in _GONE.items():
        made = re.sub(gone, there, made)
    return made


def _of_python_3(code: str) -> str:
    """Return the code in Python 3, or as it is: where it is that already, or nobody can read it."""
    tree = parse_or_none(code)
    if tree and not any(map(_is_print_statement, ast.walk(tree))) and not _OLD.search(code):
        return code
    try:
        made = str(_tool().refactor_string(f"{code}\n", "code")).removesuffix("\n")
    except Exception:  # noqa: BLE001 - a parser that meets any text
        return code
    tree = parse_or_none(made)
    if not tree:
        return code
    if not any(isinstance(node, ast.keyword) and node.arg == "cmp" for node in ast.walk(tree)):
        return made
    try:
        return ast.unparse(_Keys().visit(tree))
    except UNREADABLE:
        return code


@cache
def _tool() -> Any:  # noqa: ANN401 - the package has no types
    from fissix.refactor import RefactoringTool  # noqa: PLC0415 - it reads grammars for a second

    return RefactoringTool([f"fissix.fixes.fix_{name}" for name in _FIXES])


def _is_print_statement(node: ast.AST) -> bool:
    """Return True if a line prints in Python 2 what it computes with ``print`` in Python 3.

    Such are ``print >>file, x``, ``print (a), b``, ``print ("%s") % x``; not two calls of it.
    """
    if not isinstance(node, ast.Expr) or not isinstance(node.value, _LEFT_FIRST):
        return False
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id == "print"]
    begins = [(one.lineno, one.col_offset) for one in names] == [(node.lineno, node.col_offset)]
    return begins and not (isinstance(node.value, ast.Call) and node.value.func is names[0])


class _Keys(ast.NodeTransformer):
    """Sorts by a key that compares as ``cmp`` would."""

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        """Return ``key=functools.cmp_to_key(f)`` for ``cmp=f``."""
        self.generic_visit(node)
        if node.arg != "cmp":
            return node
        function = ast.parse("functools.cmp_to_key", mode="eval").body
        return ast.keyword("key", ast.Call(function, [node.value], []))
