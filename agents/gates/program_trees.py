"""Test programs in JavaScript and Go as the rules for expected values see them.

The functions of a program itself are seen through: their parameters hold what they are given, their
names what they return.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product
from typing import ClassVar

from tree_sitter import Node

from agents.gates.argument_expectations import ProgramTree
from infra.syntax.syntax_tree import SyntaxTreeLanguage, text_of

_UNDER = {  # kinds of statements → the field of what decides whether their parts run
    "if_statement": "condition", "while_statement": "condition", "expression_case": "value",
    "for_in_statement": "right", "range_clause": "right",
}  # fmt: skip
_TESTED = {"if_statement", "expression_case"}
_LISTS = {"expression_list", "arguments", "argument_list"}
_PART_BY_PART = {"for_in_statement", "range_clause", "member_expression"}
_AROUND = {"parenthesized_expression", "await_expression", "expression_list"}


class SyntaxTreeProgram(ProgramTree[Node]):
    """A test program that is read by tree-sitter.

    Attributes:
        variables: Kinds of identifiers that are variables.
        bound: Kind → the fields with target and value.
        functions: Kinds of functions without a name.
        member: The field of a member's name.
        failing: What fails a test wherever it is reached: members that are called, statements.
        empty: What is empty, or asks for how much there is.
    """

    variables: ClassVar = frozenset({"identifier"})
    bound: ClassVar[dict[str, tuple[str, str]]]
    functions: ClassVar[frozenset[str]]
    member: ClassVar[str]
    failing: ClassVar[frozenset[str]]
    empty: ClassVar[frozenset[str]]

    def __init__(self, program: str, code: str, language: SyntaxTreeLanguage) -> None:
        self._nodes = [*_walk(language.root_of(program))]
        functions = language.functions_of(code)
        self._methods = {f.name.rpartition(".")[2] for f in functions if f.in_class}
        self._called = set(language.called_names(code))
        self._own: dict[str, Node] = {}  # name → function of the program
        for node in self._nodes:
            target, value = self._sides(node) if node.type in self.bound else (None, None)
            value = _bare(value) if value else None
            if target and value and value.type in self.functions:
                self._own[text_of(target)] = value
            elif node.type == "function_declaration" and (name := node.child_by_field_name("name")):
                self._own[text_of(name)] = node
        self._bindings = [*self._all_bindings()]

    def variable_of(self, node: Node) -> str:
        """Return the name of the variable that a node is, "" for none."""
        return text_of(node) if node.type in self.variables else ""

    def parts_of(self, node: Node) -> Iterable[Node]:
        """Return the parts of an expression, without the name of a function that it calls."""
        function = node.child_by_field_name("function")
        is_other = function is not None and text_of(function) not in self._own
        is_left_out = is_other and function is not None and function.type in self.variables
        return (part for part in node.named_children if not is_left_out or part != function)

    def arguments_of(self, node: Node) -> Sequence[Node] | None:
        """Return the arguments of a call of the code, None for any other node."""
        function, arguments = map(node.child_by_field_name, ("function", "arguments"))
        if node.type != "call_expression" or function is None or arguments is None:
            return None
        member = function.child_by_field_name(self.member)
        is_of_code = self._is_member(function) if member else text_of(function) in self._called
        return arguments.named_children if is_of_code else None

    def nodes(self) -> Iterable[Node]:
        """Return all nodes of the program."""
        return self._nodes

    def bindings(self) -> Iterator[tuple[Node, Node]]:
        """Yield bindings: target and value."""
        yield from self._bindings

    def conditions(self) -> Iterator[tuple[Node, Node]]:
        """Yield bindings and their conditions."""
        for node in self._nodes:
            field = _UNDER.get(node.type)
            test = node.child_by_field_name(field) if field else None
            if test is None:
                continue
            for part in _walk(node.parent if node.type == "range_clause" and node.parent else node):
                if part.type in ("update_expression", "inc_statement", "dec_statement"):
                    yield part, test
                elif part.type in self.bound and (target := self._sides(part)[0]):
                    yield target, test

    def comparisons(self) -> Iterator[tuple[Sequence[Node], bool]]:
        """Yield the parts of each assertion that can fail, and whether it asks for one object."""
        for node in self._nodes:
            function = node.child_by_field_name("function")
            name = function.child_by_field_name(self.member) if function else None
            failing = text_of(name or function) if function else node.type
            is_failure = node.type in ("call_expression", "throw_statement")
            if is_failure and failing in self.failing:
                tested = node.parent
                while tested and tested.type not in _TESTED | self.functions:
                    tested = tested.parent
                field = _UNDER.get(tested.type) if tested else None
                test = tested.child_by_field_name(field) if tested and field else None
                yield from (([atom], False) for atom in _atoms(test) if test)

    def demands_emptiness(self) -> bool:
        """Return True if a program asks for something empty, for a size, or for the whole value."""
        whole: set[str] = set()  # variables that hold all that a call of the code gave
        known = -1
        while known < (known := len(whole)):
            for target, value in self._bindings:
                around = value.parent.type if value.parent else ""
                if around not in _PART_BY_PART and self._is_whole(value, whole):
                    whole |= {text_of(one) for one in _list_items(target) if self.variable_of(one)}
        for parts, _ in self.comparisons():
            sides = [side for part in parts for side in self._sides_of(part)]
            if any(self._is_whole(side, whole) for side in sides):
                return True
            for node in chain.from_iterable(map(_walk, sides)):
                is_there = node.parent is not None and _is_there(node.parent)
                if not is_there and "".join(text_of(node).split()) in self.empty:
                    return True
        return False

    def _is_member(self, function: Node) -> bool:
        """Return True if a member that is called is one of the code."""
        raise NotImplementedError

    def _sides(self, node: Node) -> tuple[Node | None, Node | None]:
        target, value = map(node.child_by_field_name, self.bound[node.type])
        return target, value

    def _all_bindings(self) -> Iterator[tuple[Node, Node]]:
        for node in self._nodes:
            if node.type in self.bound:
                target, value = self._sides(node)
                if target and value and _bare(value).type not in self.functions:
                    left, right = _list_items(target), _list_items(value)
                    is_each = len(left) == len(right)  # else one value is taken apart, for all
                    yield from zip(left, right, strict=True) if is_each else product(left, right)
            elif node.type == "call_expression":
                yield from self._argument_bindings(node)
        for name, function in self._own.items():
            named = (node for node in self._nodes if self.variable_of(node) == name)
            for called in named:
                yield from ((called, value) for value in _return_values(function))

    def _argument_bindings(self, call: Node) -> Iterator[tuple[Node, Node]]:
        """Yield the parameters of a program's own functions with what a call gives them."""
        function, arguments = map(call.child_by_field_name, ("function", "arguments"))
        given = arguments.named_children if arguments else []
        if function is not None and (own := self._own.get(text_of(function))):
            yield from zip(_parameters(own), given, strict=False)
        owner = function.child_by_field_name("object") if function else None
        for callback in given if owner else ():
            if owner and callback.type in self.functions:
                yield from ((parameter, owner) for parameter in _parameters(callback))

    def _is_whole(self, node: Node, whole: set[str]) -> bool:
        node = _bare(node)
        return self.arguments_of(node) is not None or self.variable_of(node) in whole

    def _sides_of(self, part: Node) -> Iterator[Node]:
        """Yield compared expressions: the sides of an operator, arguments of a call, and parts."""
        for node in _walk(part):
            if node.type == "binary_expression" and not _is_there(node):
                yield from filter(None, map(node.child_by_field_name, ("left", "right")))
            elif node.type in _LISTS | {"spread_element"}:
                call = text_of(node.parent) if node.parent else ""
                if not call.startswith("Array.isArray("):  # which asks for a kind
                    yield from node.named_children
        yield part


class JavaScriptProgram(SyntaxTreeProgram):
    """A test program in JavaScript."""

    variables = frozenset({
        "identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern",
    })  # fmt: skip
    bound: ClassVar = {
        "variable_declarator": ("name", "value"),
        "assignment_expression": ("left", "right"),
        "augmented_assignment_expression": ("left", "right"),
        "for_in_statement": ("left", "right"),
    }
    functions = frozenset({"arrow_function", "function_expression", "function"})
    member = "property"
    failing = frozenset({"throw_statement"})
    empty = frozenset({
        "[]", "{}", "''", '""', "``", "undefined", "null", "length", "size", "newSet()",
        "newMap()",
    })  # fmt: skip
    same = frozenset({"strictEqual", "notStrictEqual", "equal", "notEqual"})
    made = frozenset({"array", "object", "new_expression"})

    def __init__(self, program: str, code: str, language: SyntaxTreeLanguage) -> None:
        super().__init__(program, code, language)
        if "exports" in self._called:  # the module is a function itself
            self._called |= self._import_names("target")

    def comparisons(self) -> Iterator[tuple[Sequence[Node], bool]]:
        """Yield assertions, and the conditions under which something is thrown."""
        yield from super().comparisons()
        objects = {
            text_of(target) for target, value in self._bindings if _bare(value).type in self.made
        }
        imported = self._import_names("assert")
        for node in self._nodes:
            function, arguments = map(node.child_by_field_name, ("function", "arguments"))
            if node.type != "call_expression" or function is None or arguments is None:
                continue
            path = text_of(function).split(".")
            owner, name = path[0], path[-1]
            given = arguments.named_children
            if not given or (owner != "assert" and owner not in imported):
                continue
            if name in ("assert", "ok") or len(given) == 1:
                for atom in _atoms(given[0]):
                    is_same = atom.type == "binary_expression" and "==" in text_of(atom)
                    sides = atom.named_children if is_same else []
                    yield [atom], any(text_of(side) in objects for side in sides)
            else:
                is_same = name in self.same and any(text_of(one) in objects for one in given[:2])
                yield given[:2], is_same

    def _is_member(self, function: Node) -> bool:
        owner, name = map(function.child_by_field_name, ("object", self.member))
        is_target = owner is not None and (
            _requires(owner, "target") or text_of(owner) in self._import_names("target")
        )
        return is_target and name is not None and text_of(name) in self._called

    def _import_names(self, module: str) -> set[str]:
        """Return the names that a program binds to a module or to its parts."""
        return {
            text_of(name)
            for node in self._nodes
            if node.type == "variable_declarator"
            and (value := node.child_by_field_name("value"))
            and _requires(value, module)
            for name in _walk(node.named_children[0])
            if name.type in self.variables
        }


class GoProgram(SyntaxTreeProgram):
    """A test program in Go."""

    bound: ClassVar = {
        "short_var_declaration": ("left", "right"),
        "assignment_statement": ("left", "right"),
        "var_spec": ("name", "value"),
        "range_clause": ("left", "right"),
    }
    functions = frozenset({"func_literal"})
    member = "field"
    failing = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow", "panic"})
    empty = frozenset({"nil", '""', "``", "{}", "len"})

    def keeps_state(self) -> bool:
        """Return True if two methods are called on one variable, which they may build on."""
        called: dict[str, set[str]] = {}
        for node in self._nodes:
            function = node.child_by_field_name("function")
            if function is not None and self._is_member(function):
                owner, name = map(function.child_by_field_name, ("operand", self.member))
                if owner and name:
                    called.setdefault(text_of(owner), set()).add(text_of(name))
        return any(len(names) > 1 for names in called.values())

    def _is_member(self, function: Node) -> bool:
        name = function.child_by_field_name(self.member)
        return name is not None and text_of(name) in self._methods


def _walk(node: Node) -> Iterator[Node]:
    left = [node]
    while left:
        node = left.pop()
        yield node
        left += reversed(node.named_children)


def _bare(node: Node) -> Node:
    """Return an expression without parentheses and the like."""
    while node.type in _AROUND and node.named_child_count == 1:
        node = node.named_children[0]
    return node


def _is_there(node: Node) -> bool:
    """Return True if a test fails where a value is nothing at all."""
    sides = map(node.child_by_field_name, ("left", "operator", "right"))
    return [text_of(side) for side in sides if side][1:] == ["==", "nil"]


def _list_items(node: Node) -> list[Node]:
    return node.named_children if node.type in _LISTS else [node]


def _atoms(test: Node | None) -> Iterator[Node]:
    """Yield the parts of a condition that are true or false by themselves."""
    node = _bare(test) if test else None
    if node is None:
        return
    operator = node.child_by_field_name("operator")
    if operator is not None and text_of(operator) in ("&&", "||", "!"):
        sides = map(node.child_by_field_name, ("left", "right", "operand", "argument"))
        yield from chain.from_iterable(map(_atoms, sides))
    else:
        yield node


def _parameters(function: Node) -> list[Node]:
    single = function.child_by_field_name("parameter")
    parameters = function.child_by_field_name("parameters")
    found = [single] if single else parameters.named_children if parameters else []
    return [name for one in found for name in one.children_by_field_name("name") or [one]]


def _return_values(function: Node) -> Iterator[Node]:
    body = function.child_by_field_name("body")
    if body is not None and body.type not in ("statement_block", "block"):
        yield body
    for node in _walk(body) if body else ():
        if node.type == "return_statement" and node.named_child_count:
            yield node.named_children[0]


def _requires(node: Node, module: str) -> bool:
    found = _bare(node)
    text = text_of(found).replace("node:", "").replace("./", "").replace("'", '"')
    return text.startswith(f'require("{module}')
