"""The canonical form of a piece of code, which codes share that cannot but do the same.

Left out are comments, layout, docstrings, hints of built-in types, and the names of variables that
one function alone sees and no text names. All else is part of it, and so are the names of
parameters, by which a caller may give them. Code that may look at its own text, documentation or
variables has a form of its own.
"""

import ast
import re
from collections.abc import Iterator

from infra.languages.python.control import rename_variables
from infra.languages.python.syntax import UNREADABLE, FunctionNode, parse

# Words of code, also inside its texts, that may read what the form leaves out.
_LOOKS_AT_CODE = {
    "__doc__", "func_doc", "getdoc", "pydoc", "doctest", "docopt", "help",
    "__annotations__", "get_type_hints", "get_annotations", "inspect", "getsource", "linecache",
    "__code__", "func_code", "_getframe", "f_locals", "f_lineno", "tb_lineno", "tb_frame",
    "traceback", "exec", "eval", "execfile", "locals", "vars", "dis", "marshal", "dill",
    "cloudpickle",
}  # fmt: skip
_WORD = re.compile(r"\w+")
_TYPES = {"bool", "bytes", "complex", "float", "int", "object", "str"}
_CONTAINERS = {"dict", "frozenset", "list", "set", "tuple", "type"}
_Signature = ast.FunctionDef | ast.AsyncFunctionDef


def canonical_of(code: str) -> str:
    """Return the canonical form; the code itself where it is no Python 3 or looks at itself."""
    try:
        tree = parse(code)
        bound = {word for node in ast.walk(tree) for word in _bound_by(node)}
        if "*" in bound:
            bound |= _TYPES | _CONTAINERS
        for scope in (tree, *_plain_scopes(tree)):
            _strip(scope, bound)
        if _words(tree) & _LOOKS_AT_CODE:
            return code
        if not any(isinstance(node, ast.ExceptHandler) and node.name for node in ast.walk(tree)):
            rename_variables(tree)  # else a message may tell a name, as of one that is not bound
        return ast.dump(tree)
    except UNREADABLE:
        return code


def _plain_scopes(parent: ast.AST) -> Iterator[ast.AST]:
    """Yield functions and classes of which nothing else sees the documentation and the hints.

    Decorators, base classes and metaclasses may read them of all that is inside.
    """
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, FunctionNode | ast.ClassDef):
            is_derived = isinstance(node, ast.ClassDef) and (node.bases or node.keywords)
            if node.decorator_list or is_derived:
                continue
            yield node
        yield from _plain_scopes(node)


def _strip(scope: ast.AST, bound: set[str]) -> None:
    """Remove a scope's docstring, and from a function the hints that do nothing."""
    if not isinstance(scope, ast.Module | ast.ClassDef | FunctionNode):
        return
    if ast.get_docstring(scope, clean=False) is not None:
        scope.body[:1] = [] if len(scope.body) > 1 else [ast.Pass()]
    if isinstance(scope, _Signature):
        parameters = (node for node in ast.walk(scope.args) if isinstance(node, ast.arg))
        for hinted, field in [(scope, "returns"), *((one, "annotation") for one in parameters)]:
            if _does_nothing(getattr(hinted, field), bound):
                setattr(hinted, field, None)


def _does_nothing(hint: ast.expr | None, bound: set[str]) -> bool:
    """Return whether a hint is made of built-in types, so that it is evaluated without effect."""
    match hint:
        case None | ast.Constant(value=None) | ast.Constant(value=str()):
            return True
        case ast.Name(id=name):
            return name in (_TYPES | _CONTAINERS) - bound
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=parts)):
            return name in _CONTAINERS - bound and all(_does_nothing(one, bound) for one in parts)
        case ast.Subscript(value=ast.Name(id=name), slice=part):
            return name in _CONTAINERS - bound and _does_nothing(part, bound)
        case ast.BinOp(op=ast.BitOr(), left=ast.Name() as left, right=right):
            is_text = isinstance(right, ast.Constant) and right.value is not None
            return not is_text and _does_nothing(left, bound) and _does_nothing(right, bound)
    return False


def _bound_by(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node may give another meaning."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    for field in ("name", "asname", "rest"):
        if isinstance(value := getattr(node, field, None), str):
            yield value


def _words(tree: ast.AST) -> set[str]:
    """Return the words of a tree's names and texts."""
    texts = (
        value
        for node in ast.walk(tree)
        for _, field in ast.iter_fields(node)
        for value in (field if isinstance(field, list) else [field])
        if isinstance(value, str)
    )
    return {word for text in texts for word in _WORD.findall(text)}
