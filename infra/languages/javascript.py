"""JavaScript by tree-sitter's grammar.

A box runs functions that are declared, assigned to a name or exported, and methods that were cut
out of their class, on an object that has them alone.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from tree_sitter import Node

from infra.languages import Function, languages
from infra.syntax.mutation import Kinds
from infra.syntax.syntax_tree import Definition, SyntaxTreeLanguage, text_of

_FUNCTIONS = frozenset({"function_expression", "arrow_function", "generator_function", "function"})
_OWNER = re.compile(r"[\w$.]+")
# What a box's programs can call; a member may have any of these words as its name.
_CALLED = re.compile(
    r"(?!(?:await|break|case|catch|class|const|continue|debugger|default|delete|do|else|enum|export|"
    r"extends|false|finally|for|function|if|import|in|instanceof|new|null|return|super|switch|this|"
    r"throw|true|try|typeof|var|void|while|with|yield)$)[A-Za-z_$][\w$]*"
)
_AROUND = frozenset({"assignment_expression", "parenthesized_expression"})
_EXPORT = re.compile(
    r"^export\s+(default\s+)?(?=function|async|const|let|var|\(|[\w$]+\s*=>)", re.MULTILINE
)
_NAMED = re.compile(r"\bmodule\.exports\s*=\s*(?:async\s+)?function\b\s*\*?\s*([\w$]+)")
_MUTATED = Kinds(
    operations=frozenset(
        {"binary_expression", "augmented_assignment_expression", "update_expression"}
    ),
    numbers=frozenset({"number"}),
    texts={"string": "''", "template_string": "``"},
    words=frozenset({"true", "false", "break_statement", "continue_statement"}),
    conditions={
        "if_statement": "condition",
        "while_statement": "condition",
        "ternary_expression": "condition",
    },
    returns={"return_statement": lambda _: "return undefined;"},
    statements=frozenset({"expression_statement"}),
    silent=frozenset({"throw_statement", "comment", "regex"}),
    silent_calls=("console.",),
)
_STATEMENTS = frozenset({"lexical_declaration", "variable_declaration", "expression_statement"})
# Kinds of nodes that bind names → the field with these, or with a pattern of them.
_BINDING = {
    "variable_declarator": "name", "function_declaration": "name", "function_expression": "name",
    "generator_function_declaration": "name", "generator_function": "name", "class": "name",
    "class_declaration": "name", "arrow_function": "parameter", "catch_clause": "parameter",
    "assignment_expression": "left", "for_in_statement": "left",
}  # fmt: skip
_PATTERNS = frozenset({"formal_parameters", "import_clause"})
_NAMES = frozenset({"identifier", "shorthand_property_identifier"})
_OF_NODE = """
    AbortController AbortSignal AggregateError Array ArrayBuffer Atomics BigInt BigInt64Array
    BigUint64Array Blob Boolean Buffer DOMException DataView Date Error EvalError Event EventTarget
    FinalizationRegistry Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array
    Intl JSON Map Math MessageChannel NaN Number Object Promise Proxy RangeError ReferenceError
    Reflect RegExp Set SharedArrayBuffer String Symbol SyntaxError TextDecoder TextEncoder TypeError
    URIError URL URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap
    WeakRef WeakSet WebAssembly __dirname __filename arguments async atob btoa clearImmediate
    clearInterval clearTimeout console decodeURI decodeURIComponent encodeURI encodeURIComponent
    escape eval exports fetch global globalThis isFinite isNaN let module of parseFloat parseInt
    performance process queueMicrotask require setImmediate setInterval setTimeout structuredClone
    undefined unescape
"""
GLOBALS = frozenset(_OF_NODE.split())
MODULES = {  # node's own, which lead nowhere else
    "assert", "buffer", "crypto", "events", "fs", "os", "path", "punycode", "querystring", "stream",
    "string_decoder", "url", "util", "zlib",
}  # fmt: skip
_MISTAKEN = {"buffer", "events", "stream"}  # for variables of these names
# A module that a file has under its own name, if it has all that is taken from it: one of the
# project's may have that name, too.
_REQUIRED = (
    "for (const [name, ...used] of {}) {{ const all = require(name); "
    "if (used.every((one) => one in all)) globalThis[name] = all; }}"
)
_STRICT = re.compile(r"""\s*(?:(?://.*|/\*[\s\S]*?\*/)\s*)*(['"])use strict\1""")


@languages.register("javascript")
class JavaScript(SyntaxTreeLanguage):
    """Functions, methods, and functions that get a name by what they are assigned to."""

    name = "javascript"
    title = "JavaScript"
    is_executed = True
    suffixes = (".js", ".mjs", ".cjs", ".jsx")
    grammar = ("tree_sitter_javascript", "language")
    calling: ClassVar = {"call_expression": "function", "new_expression": "constructor"}
    mutated = _MUTATED
    stop = "process.reallyExit(1);"
    assigned: ClassVar = {  # kind → the fields with name and function
        "variable_declarator": ("name", "value"),
        "assignment_expression": ("left", "right"),
        "pair": ("key", "value"),
        "field_definition": ("property", "value"),
        "augmented_assignment_expression": ("left", "right"),
    }
    functions = (
        frozenset({"function_declaration", "generator_function_declaration", "method_definition"})
        | _STATEMENTS
        | {"export_statement"}
        | assigned.keys()
    )
    scopes = frozenset({"class_declaration", "class"})
    anonymous = _FUNCTIONS
    documenting = ("/**",)
    leading = frozenset({"hash_bang_line"})
    special = frozenset({"toString", "toLocaleString", "valueOf", "constructor"})
    wrappers = (("class _ {", "\n}"), ("({", "\n})"), ("(", "\n)"))

    def definition_of(self, node: Node) -> Definition | None:
        """Return a function that is declared, or the one that is assigned to a name.

        A statement that assigns one function is its text, with ``const`` or ``exports.``.
        """
        if node.type == "export_statement":  # has a value where it is the default without a name
            value = _function_in(node.child_by_field_name("value"))
            return Definition("default", value) if value else None
        if node.type in _STATEMENTS:
            if node.named_child_count != 1 or node.named_children[0].type not in self.assigned:
                return None
            node = node.named_children[0]
        if node.type in self.assigned:
            name, value = map(node.child_by_field_name, self.assigned[node.type])
            value = _function_in(value)
        else:
            name = node.child_by_field_name("name")
            value = node if node.child_by_field_name("body") else None
        if name is None or value is None or name.type.endswith("_pattern"):
            return None
        owner = name.child_by_field_name("object")
        text = text_of(owner) if owner else ""
        return Definition(_name_of(name), value, text if _OWNER.fullmatch(text) else "")

    def parameters_of(self, function: Node) -> Iterator[str]:
        """Yield the names; a pattern that takes an argument apart stands as it is."""
        if single := function.child_by_field_name("parameter"):
            yield text_of(single)
        parameters = function.child_by_field_name("parameters")
        for parameter in parameters.named_children if parameters else ():
            taken = parameter.child_by_field_name("left") or parameter
            if taken.type not in self.comments:
                yield text_of(taken).removeprefix("...").strip()

    def returns_value(self, function: Node, *, has_return: bool) -> bool:
        """Return True if it has a ``return`` with a value, or is an arrow before a value."""
        body = function.child_by_field_name("body")
        is_value = body is not None and body.type != "statement_block"
        return has_return or (is_value and function.type == "arrow_function")

    def undefined_names(self, code: str) -> frozenset[str]:
        """Return the names that code reads and binds nowhere, without those of node itself.

        One that code asks for by ``typeof`` may be missing.
        """
        walk = self._read(code)
        if walk is None or walk.has_error:
            return frozenset()
        used, bound = set[str](), set(GLOBALS)
        nodes = [walk.tree.root_node]
        while nodes:
            node = nodes.pop()
            nodes += node.children
            bound |= bound_in(node) if node.start_byte >= walk.before else set()
            if node.type == "unary_expression" and node.children[0].type == "typeof":
                bound.add(text_of(node.children[1]))
            elif node.type in _NAMES:
                used.add(text_of(node))
        return frozenset(used - bound)

    def scaffolded(self, code: str) -> str:
        """Return a module that returns the code's functions by their names."""
        return self.with_support_code(code, "", scaffolding=True)

    def returning(self, code: str, way: str, *, tells: bool) -> str:
        """Return the module of a code whose functions return otherwise."""
        text, functions = self._module(code)
        given = f"{functions}, {json.dumps(way)}, {json.dumps(tells)}"
        return f"{text}\n{self.returned}\nreturn cosqa_returned({given});\n"

    def _module(self, code: str) -> tuple[str, str]:
        """Return a code's text as a module has it, and an object of its functions by their names.

        Raises:
            SyntaxError: There is no such text.
        """
        plain = _without_export(code)
        functions = self.functions_of(plain)
        if not self.root_of(plain).has_error:
            own = _called(f for f in functions if "." not in f.name and not f.in_class)
            return plain, f"{{ {', '.join(sorted(own))} }}"
        names = sorted(_called(functions) - {"constructor"})
        for before, behind in (("new (class {\n", "\n})()"), ("({\n", "\n})")):
            text = f"const _made = {before}{plain}{behind};"
            if not self.root_of(text).has_error:
                calls = (f"{name}: (...all) => _made.{name}(...all)" for name in names)
                return text, f"{{ {', '.join(calls)} }}"
        raise SyntaxError("invalid syntax")

    def with_support_code(self, code: str, support_code: str, *, scaffolding: bool) -> str:
        """Return the module of a code, which needs its last line whatever scaffolding it gets."""
        try:
            text, functions = self._module(code)
        except SyntaxError:
            return code
        strict = '"use strict"; ' if _STRICT.match(code) else ""
        lacking = frozenset[str]()
        if scaffolding:  # but for names that what stands beside it binds in its own statements
            nodes = self.root_of(support_code).named_children
            parts = [part for node in nodes for part in (node, *node.named_children)]
            lacking = self.undefined_names(text).difference(*map(bound_in, parts))
        modules = [
            [name, *sorted({*re.findall(rf"\b{name}\.(\w+)", text)})]
            for name in sorted(MODULES.difference(_MISTAKEN).intersection(lacking))
        ]
        required = _REQUIRED.format(json.dumps(modules)) if modules else ""
        head = "\n".join(filter(str.strip, (support_code, required)))
        before = f"{strict}{head}\n" if head else ""
        return f"{before}{text}\nreturn {functions};\n"

    def called_names(self, code: str) -> frozenset[str]:
        """Return the names by which a box finds the code's functions; a module's own is exports."""
        plain = _without_export(code)
        try:
            functions = self.functions_of(plain)
        except SyntaxError:
            return frozenset()
        is_one = any(function.name == "module.exports" for function in functions)
        own = {"exports", *_NAMED.findall(plain)} if is_one else ()
        return _called(
            function
            for function in functions
            if function.name.rpartition(".")[0] in ("", "exports", "module.exports")
            or not function.in_class
        ).union(own)


def bound_in(node: Node) -> set[str]:
    """Return the names that a node binds itself, in patterns too."""
    bound = node.child_by_field_name(_BINDING.get(node.type, ""))
    patterns = [*node.named_children] if node.type in _PATTERNS else [bound] if bound else []
    found = set()
    while patterns:
        part = patterns.pop()
        if part.type in ("identifier", "shorthand_property_identifier_pattern"):
            found.add(text_of(part))
        elif part.type in ("assignment_pattern", "object_assignment_pattern"):
            patterns += part.children_by_field_name("left")
        elif part.type == "pair_pattern":
            patterns += part.children_by_field_name("value")
        elif part.type not in ("member_expression", "subscript_expression"):
            patterns += part.named_children
    return found


def _without_export(code: str) -> str:
    """Return a code as a script has it: its default is what the module itself is."""
    return _EXPORT.sub(lambda found: "module.exports = " if found[1] else "", code)


def _function_in(value: Node | None) -> Node | None:
    """Return the function that a value is, in parentheses or assigned once more."""
    while value is not None and value.type in _AROUND:
        value = value.named_children[-1] if value.named_children else None
    return value if value and value.type in _FUNCTIONS else None


def _name_of(node: Node) -> str:
    """Return a member's own name: a text is its content, and what is computed has brackets."""
    last = node.child_by_field_name("property") or node.child_by_field_name("index") or node
    is_computed = node.type == "subscript_expression"
    if last.type == "computed_property_name" and last.named_children:
        last, is_computed = last.named_children[0], True
    text = " ".join(text_of(last).split())
    if last.type == "string":
        return text if "." in text or len(text) <= len("''") else text[1:-1]
    return f"[{text}]" if is_computed and last.type != "number" else text


def _called(functions: Iterable[Function]) -> frozenset[str]:
    """Return the functions' own names, as far as they are such that a program can call."""
    names = (function.name.rpartition(".")[2] for function in functions)
    return frozenset(filter(_CALLED.fullmatch, names))
