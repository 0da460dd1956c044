"""Stubs: imports and small definitions of names that the code under test uses and does not bind.

A reply gives them in its field ``beside``. They are put before the code wherever it runs, so they
may bind what it lacks, and names that mean nothing in it: none of its own, and no built-in one.
Agents who judge by a run see them. Rejected is what no definition needs: to read the test or the
code, to change what others have made, to be equal to what it is compared with. That keeps an agent
from a wrong turn; against hostile code, which could do all of it itself, there is the sandbox.
Code in JavaScript and asserts on it are in two processes, so that no stub leads to an assert.
"""

import builtins
from collections.abc import Collection, Iterator

from tree_sitter import Node

from agents.gates import StubRules
from infra.languages.javascript import GLOBALS, MODULES, JavaScript, bound_in
from infra.languages.python import (
    SELF_STUB,
    DottedNames,
    FunctionNode,
    ast,
    bound_names,
    is_deep,
    names_bound_by,
    parse,
    parse_or_none,
    undefined_names,
)
from infra.syntax.syntax_tree import text_of

_MOST_LEVELS = 60
_OURS = {"target", "__main__", "program"}
# What leads to the code of others, or into what the asserts rest on.
_NAMES = {
    "__builtins__", "__import__", "builtins", "compile", "ctypes", "delattr", "dis", "eval", "exec",
    "gc", "globals", "importlib", "inspect", "linecache", "locals", "mock", "pytest", "setattr",
    "tokenize", "unittest", "vars", *_OURS,
}  # fmt: skip
_PARTS = {
    "__builtins__", "__code__", "__defaults__", "__dict__", "__globals__", "__kwdefaults__",
    "__loader__", "__setattr__", "__spec__", "__subclasses__", "_getframe", "addaudithook",
    "f_back", "f_builtins", "f_code", "f_globals", "f_locals", "get_source", "setprofile",
    "settrace", "tb_frame",
}  # fmt: skip
_DOTTED = {"sys.modules", "sys.meta_path", "sys.path"}
_TEXTS = {"program.py", "target.py", *_PARTS}
_COMPARING = {
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__", "__class__",
    "__instancecheck__", "__subclasscheck__",
}  # fmt: skip
# Of JavaScript.
_SCRIPT_NAMES = {
    "Function", "Proxy", "Reflect", "eval", "exports", "global", "globalThis", "module", "process",
}  # fmt: skip
_SCRIPT_PARTS = {
    "__proto__", "defineProperties", "defineProperty", "prototype", "setPrototypeOf", "toJSON",
    "toPrimitive", "valueOf",
}  # fmt: skip
_DECLARATIONS = {"lexical_declaration", "variable_declaration"}
_DEFINITIONS = _DECLARATIONS | {
    "function_declaration", "generator_function_declaration", "class_declaration", "comment",
    "empty_statement",
}  # fmt: skip
_STAND_INS = (  # calls give nothing; it gives itself and is no value at all
    "const {} = function () {{}};",
    "const {0} = new Proxy(Map, {{ get: () => {0}, apply: () => {0}, construct: () => {0} }});",
)
_JAVASCRIPT = JavaScript()


class PythonStubs(StubRules):
    """The rules for stubs of code in Python."""

    def _fault_of_text(self, text: str, code: str) -> str:
        try:
            tree = parse(text)
        except SyntaxError as error:
            return f"it is no Python 3.11: {error}"
        if is_deep(tree, _MOST_LEVELS):
            return "it is nested too deeply"
        lacking, known = undefined_names(code), _names_of(code)
        if not lacking:
            return "the code lacks no name"
        faults = (one for node in tree.body for one in _faults_of_statement(node, lacking, known))
        if fault := next(faults, ""):
            return fault
        names, imported = DottedNames(tree), set(dir(builtins))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imported.update(names_bound_by(node))
        for node in ast.walk(tree):  # for what is forbidden anywhere in the lines
            word = (
                _module_of(node, lacking)
                or _word_of(node, names, lacking)
                or _change(node, imported)
            )
            if word:
                return f"line {getattr(node, 'lineno', 0)} has {word}"
        return ""

    def _fitting(self, text: str, code: str) -> str:
        tree = parse_or_none(text)
        if tree is None or is_deep(tree, _MOST_LEVELS):
            return ""
        lacking, known = undefined_names(code), _names_of(code)
        tree.body = [one for one in tree.body if not any(_faults_of_statement(one, lacking, known))]
        left = ast.unparse(tree)
        return "" if self.fault_of(left, code) else left


PYTHON_STUBS = PythonStubs()


def functions_of(stubs: str, code: str) -> frozenset[str]:
    """Return the names of stub functions and methods that no function of the code has."""
    return function_names(stubs) - function_names(code)


def function_names(code: str) -> frozenset[str]:
    """Return the names of a code's functions and methods."""
    tree = parse_or_none(code)
    nodes = ast.walk(tree) if tree else ()
    return frozenset(node.name for node in nodes if isinstance(node, FunctionNode))


def _names_of(code: str) -> frozenset[str]:
    """Return the names that code binds or looks up, and those of Python."""
    tree = parse_or_none(code)
    used = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name)) if tree else ()
    return bound_names(code).union(used, dir(builtins), (SELF_STUB,))


def _faults_of_statement(
    node: ast.stmt, lacking: Collection[str], known: Collection[str]
) -> Iterator[str]:
    """Yield why a statement may not stand outside functions, or bind what it binds."""
    names, is_import = names_bound_by(node), isinstance(node, ast.Import | ast.ImportFrom)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        parts = [part for target in targets for part in getattr(target, "elts", [target])]
        is_plain = node.value is not None and all(isinstance(one, ast.Name) for one in parts)
    else:
        is_plain = is_import or isinstance(node, FunctionNode | ast.ClassDef)
    if not is_plain:
        yield f"line {node.lineno} is no import, definition or constant"
    for name in names:
        # What a definition needs itself may have a name that means nothing in the code.
        if name == "*" or (name not in lacking and name in known):
            yield f"{name} is no name that the code lacks"


def _module_of(node: ast.AST, lacking: Collection[str]) -> str:
    """Return a module of an import that is refused; any that the code lacks may be imported."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return ""
    if getattr(node, "level", 0):
        return "a relative import"
    refused = _OURS | {"__future__"}
    if not set(names_bound_by(node)) <= set(lacking):
        refused |= _NAMES
    modules = {getattr(node, "module", "") or alias.name for alias in node.names}
    return min(refused & {module.partition(".")[0] for module in modules}, default="")


def _word_of(node: ast.AST, names: DottedNames, lacking: Collection[str]) -> str:
    """Return the name in a node that no definition needs, "" without one."""
    match node:
        case ast.Global():
            return "global"
        case ast.Constant(value=str() as text) if text in _TEXTS:
            return repr(text)
        case ast.Attribute(attr=name) if name in _PARTS or names.of(node) in _DOTTED:
            return name
        case ast.Name(id=name) if name in _NAMES - set(lacking):
            return name
        case (
            ast.FunctionDef(name=name)
            | ast.AsyncFunctionDef(name=name)
            | ast.Name(id=name, ctx=ast.Store())
        ) if name in _COMPARING:
            return name
    return ""


def _change(node: ast.AST, imported: Collection[str]) -> str:
    """Return the import or the built-in name of which a node changes a part, "" for none."""
    if not isinstance(node, ast.Attribute | ast.Subscript) or isinstance(node.ctx, ast.Load):
        return ""
    root: ast.AST = node
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    name = root.id if isinstance(root, ast.Name) else ""
    return f"a change of {name}" if name in imported else ""


class ScriptStubs(StubRules):
    """The rules for stubs of code in JavaScript."""

    def _fault_of_text(self, text: str, code: str) -> str:
        lacking, root = _JAVASCRIPT.undefined_names(code), _root_of(text)
        if root is None or root.has_error:
            return "it is no JavaScript"
        if not lacking:
            return "the code lacks no name"
        nodes = root.named_children
        faults = (fault for node in nodes for fault in _statement_faults(node, code, lacking))
        if fault := next(faults, ""):
            return fault
        left = [root]
        while left:  # what is forbidden anywhere in the lines
            node = left.pop()
            left += reversed(node.children)
            word = _script_word(node)
            if word and word not in lacking:
                return f"line {node.start_point.row + 1} has {word}"
        return ""

    def _fitting(self, text: str, code: str) -> str:
        lacking, root = _JAVASCRIPT.undefined_names(code), _root_of(text)
        nodes = root.named_children if root else ()
        left = (text_of(node) for node in nodes if not any(_statement_faults(node, code, lacking)))
        fitting = "\n".join(left)
        return "" if self._fault_of_text(fitting, code) else fitting

    def substitutes(self, stubs: str) -> tuple[str, ...]:
        """Return other stubs in place of what an agent made up; modules required by name stay."""
        root = _root_of(stubs)
        nodes = root.named_children if root else []
        kept = [node for node in nodes if _is_import(node) and _script_names(node) <= MODULES]
        names = sorted({name for node in nodes if node not in kept for name in _script_names(node)})
        lines = [*map(text_of, kept)]
        made = ("\n".join((*lines, *map(one.format, names))) for one in _STAND_INS)
        return tuple(made) if names else ()


def _script_names(statement: Node) -> set[str]:
    return {name for one in (statement, *_declarators(statement)) for name in bound_in(one)}


def _root_of(text: str) -> Node | None:
    try:
        return _JAVASCRIPT.root_of(text)
    except SyntaxError:
        return None


def _declarators(statement: Node) -> list[Node]:
    parts = statement.named_children if statement.type in _DECLARATIONS else []
    return [part for part in parts if part.type == "variable_declarator"]


def _is_import(statement: Node) -> bool:
    values = [one.child_by_field_name("value") for one in _declarators(statement)]
    return bool(values) and all(one and text_of(one).startswith("require(") for one in values)


def _statement_faults(node: Node, code: str, lacking: Collection[str]) -> Iterator[str]:
    """Yield why a statement may not stand outside functions, or bind what it binds."""
    declared = _declarators(node)
    is_valued = all(one.child_by_field_name("value") for one in declared)
    if node.type not in _DEFINITIONS or not is_valued:
        yield f"line {node.start_point.row + 1} is no require, definition or constant"
    known = GLOBALS.union(_JAVASCRIPT.identifiers(code)) - {*lacking}
    yield from (
        f"{name} is no name that the code lacks" for name in sorted(_script_names(node) & known)
    )


def _script_word(node: Node) -> str:
    """Return the part of a node that no definition needs, "" for none."""
    text, field = text_of(node), node.child_by_field_name("left")
    if node.type == "identifier" and text in _SCRIPT_NAMES:
        return text
    if node.type in ("property_identifier", "string_fragment") and text in _SCRIPT_PARTS:
        return text
    if node.type == "identifier" and text == "require":
        given = node.next_sibling.named_children if node.next_sibling else []
        name = text_of(given[0]).strip("'\"").removeprefix("node:") if given else "something else"
        return "" if name in MODULES else f"require of {name}"
    changed = text_of(field).partition(".")[0] if field and "assignment" in node.type else ""
    return f"a change of {changed}" if changed in GLOBALS | MODULES else ""
