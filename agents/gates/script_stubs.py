"""Stubs of code in JavaScript, checked as `agents.gates.stubs` checks Python's.

Code and asserts are in two processes there, so that no stub leads to an assert.
"""

from collections.abc import Collection, Iterator

from tree_sitter import Node

from agents.gates.gates import StubRules
from infra.languages.javascript import GLOBALS, MODULES, JavaScript, bound_in
from infra.syntax.syntax_tree import text_of

_NAMES = {
    "Function", "Proxy", "Reflect", "eval", "exports", "global", "globalThis", "module", "process",
}  # fmt: skip
_PARTS = {
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
_LANGUAGE = JavaScript()


class ScriptStubs(StubRules):
    """The rules for stubs of code in JavaScript."""

    def _fault_of_text(self, text: str, code: str) -> str:
        lacking, root = _LANGUAGE.undefined_names(code), _root_of(text)
        if root is None or root.has_error:
            return "it is no JavaScript"
        if not lacking:
            return "the code lacks no name"
        nodes = root.named_children
        faults = (fault for node in nodes for fault in _statement_faults(node, code, lacking))
        return next(faults, "") or next(_tree_faults(root, lacking), "")

    def _fitting(self, text: str, code: str) -> str:
        lacking, root = _LANGUAGE.undefined_names(code), _root_of(text)
        nodes = root.named_children if root else ()
        left = (text_of(node) for node in nodes if not any(_statement_faults(node, code, lacking)))
        fitting = "\n".join(left)
        return "" if self._fault_of_text(fitting, code) else fitting

    def substitutes(self, stubs: str) -> tuple[str, ...]:
        """Return other stubs in place of what an agent made up; modules required by name stay."""
        root = _root_of(stubs)
        nodes = root.named_children if root else []
        kept = [node for node in nodes if _is_import(node) and _names_of(node) <= MODULES]
        names = sorted({name for node in nodes if node not in kept for name in _names_of(node)})
        lines = [*map(text_of, kept)]
        made = ("\n".join((*lines, *map(one.format, names))) for one in _STAND_INS)
        return tuple(made) if names else ()


def _names_of(statement: Node) -> set[str]:
    return {name for one in (statement, *_declarators(statement)) for name in bound_in(one)}


def _root_of(text: str) -> Node | None:
    try:
        return _LANGUAGE.root_of(text)
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
    known = GLOBALS.union(_LANGUAGE.identifiers(code)) - {*lacking}
    yield from (
        f"{name} is no name that the code lacks" for name in sorted(_names_of(node) & known)
    )


def _tree_faults(root: Node, lacking: Collection[str]) -> Iterator[str]:
    """Yield forbidden operations anywhere in the lines."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        nodes += reversed(node.children)
        word = _word_of(node)
        if word and word not in lacking:
            yield f"line {node.start_point.row + 1} has {word}"


def _word_of(node: Node) -> str:
    """Return the part of a node that no definition needs, "" for none."""
    text, field = text_of(node), node.child_by_field_name("left")
    if node.type == "identifier" and text in _NAMES:
        return text
    if node.type in ("property_identifier", "string_fragment") and text in _PARTS:
        return text
    if node.type == "identifier" and text == "require":
        given = node.next_sibling.named_children if node.next_sibling else []
        name = text_of(given[0]).strip("'\"").removeprefix("node:") if given else "something else"
        return "" if name in MODULES else f"require of {name}"
    changed = text_of(field).partition(".")[0] if field and "assignment" in node.type else ""
    return f"a change of {changed}" if changed in GLOBALS | MODULES else ""
