"""Exception handlers of test programs that catch what the code raises, or hide a failure."""

from collections.abc import Iterator

from infra.languages.python import DottedNames, FunctionNode, assertions_in, ast
from sandbox.inside.instrumentation import imported_assertions

_BROAD = {"AssertionError", "Exception", "BaseException"}
_SUPPRESS = "suppress"
_CATCHING = {
    _SUPPRESS, "raises", "assertRaises", "assertRaisesRegex", "assert_raises",
    "assert_raises_regex",
}  # fmt: skip
_Tries = ast.Try | ast.TryStar
_Withs = ast.With | ast.AsyncWith


def exception_handlers(tree: ast.Module, target_names: frozenset[str]) -> Iterator[str]:
    """Yield the places where a program catches what the code under test raises, one a line."""
    calls = _Calls(tree, target_names)
    for node in ast.walk(tree):
        caught: list[str] = []
        if isinstance(node, _Tries):
            if any(map(calls.reach_target, node.body)):
                caught = [_exception_text(handler.type) for handler in node.handlers]
        elif isinstance(node, _Withs):
            items = [item.context_expr for item in node.items]
            catching = [item for item in items if calls.name_of(item) in _CATCHING]
            if catching and any(map(calls.reach_target, node.body)):
                caught = [_expected_exceptions(item, calls) for item in catching]
        elif calls.name_of(node) in _CATCHING and calls.reach_target(node):
            caught = [_expected_exceptions(node, calls)]
        if caught:
            yield f"line {getattr(node, 'lineno', 0)} catches {' and '.join(caught)}"


def hidden_failure_in(tree: ast.Module, target_names: frozenset[str]) -> str:
    """Return the place where a failure would be hidden, "" if nowhere.

    It is where a failing assertion would be caught, and where all that the code raises is passed
    over before the last assertion.
    """
    calls = _Calls(tree, target_names)
    last = max((item.lineno for item in calls.assertions_in(tree)), default=0)
    for node in ast.walk(tree):
        if not isinstance(node, _Tries | _Withs) or not _catches_assertions(node, calls):
            continue
        if any(calls.may_assert(part) for part in node.body):
            return f"line {node.lineno} catches the failure of an assertion"
        is_before = last > (node.end_lineno or 0)
        if is_before and _passes_over(node) and any(map(calls.reach_target, node.body)):
            return f"line {node.lineno} passes over whatever the code raises"
    return ""


class _Calls:
    """The callables of a program by their names."""

    def __init__(self, tree: ast.Module, target_names: frozenset[str]) -> None:
        functions = (node for node in ast.walk(tree) if isinstance(node, FunctionNode))
        self._names = DottedNames(tree)
        self._defined = {node.name for node in functions}
        self._called = self._defined | target_names
        self._imported = imported_assertions([*ast.walk(tree)])

    def assertions_in(self, part: ast.AST) -> Iterator[ast.Assert | ast.Call]:
        """Yield the assertions of a part of the program."""
        return assertions_in(part, self._imported)

    def name_of(self, node: ast.AST) -> str:
        """Return the last name of what a call calls, as where it comes from; "" for no call."""
        if not isinstance(node, ast.Call):
            return ""
        attribute = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        return self._names.of(node.func).rpartition(".")[2] or attribute

    def may_assert(self, statement: ast.AST) -> bool:
        """Return True if a statement has an assertion, or calls a function of the program."""
        if any(True for _ in self.assertions_in(statement)):
            return True
        called = (node.func for node in ast.walk(statement) if isinstance(node, ast.Call))
        return any(isinstance(node, ast.Name) and node.id in self._defined for node in called)

    def reach_target(self, statement: ast.AST) -> bool:
        """Return True if a statement calls what may be the code under test, or hands it on."""
        return any(
            self._is_target(part)
            for node in ast.walk(statement)
            if isinstance(node, ast.Call)
            for part in (node.func, *arguments_of(node))
        )

    def _is_target(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Starred):
            return self._is_target(node.value)
        if self._names.of(node).startswith("target."):
            return True
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        return name in self._called


def arguments_of(call: ast.Call) -> tuple[ast.expr, ...]:
    """Return the arguments of a call, those by position first."""
    return (*call.args, *(keyword.value for keyword in call.keywords))


def _expected_exceptions(call: ast.AST, calls: _Calls) -> str:
    """Return the exceptions that a call catches, of the code that it is given or of a ``with``."""
    assert isinstance(call, ast.Call)  # noqa: S101 - the caller has seen to it
    wanted = call.args if calls.name_of(call) == _SUPPRESS else arguments_of(call)[:1]
    return " and ".join(map(_exception_text, wanted)) or "nothing"


def _exception_text(caught: ast.expr | None) -> str:
    return ast.unparse(caught)[:100] if caught else "everything"


def _catches_assertions(node: _Tries | _Withs, calls: _Calls) -> bool:
    if isinstance(node, _Tries):
        return any(
            _is_broad(handler.type)
            and not any(isinstance(part, ast.Raise | ast.Assert) for part in ast.walk(handler))
            for handler in node.handlers
        )
    return any(
        isinstance(call := item.context_expr, ast.Call)
        and calls.name_of(call) == _SUPPRESS
        and any(map(_is_broad, call.args))
        for item in node.items
    )


def _is_broad(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(map(_is_broad, caught.elts))
    return caught is None or ast.unparse(caught) in _BROAD


def _passes_over(node: _Tries | _Withs) -> bool:
    """Return True if nothing at all follows from an exception, nor from there being none."""
    if isinstance(node, _Withs):
        return True
    handled = [part for handler in node.handlers for part in handler.body]
    return not node.orelse and all(isinstance(part, ast.Pass | ast.Continue) for part in handled)
