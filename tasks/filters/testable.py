"""CoSQA+'s rule of what a test program can judge.

Source: Gong et al., "CoSQA+: Pioneering the Multi-Choice Code Search Benchmark with Test-Driven
Agents", the section on collecting the code base: a function is kept when it has at least one input
parameter and a ``return`` statement with a value, for only then can a test give it something and
look at what comes back.
"""

import ast
from collections.abc import Collection, Iterator

NO_PARAMETER = "no input parameter"
NO_RESULT = "no return with a value"
SPECIAL = "constructor or special method"

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def why_untestable(
    node: ast.FunctionDef | ast.AsyncFunctionDef, parameters: Collection[str]
) -> str | None:
    """Return the rule that drops a function, or None when a test program can judge it.

    Args:
        node: The function's definition.
        parameters: What a caller passes; the object that a method is bound to is none.
    """
    if is_special(node.name):
        return SPECIAL
    if not parameters:
        return NO_PARAMETER
    if not any(map(_gives_value, _own_statements(node.body))):
        return NO_RESULT
    return None


def is_special(name: str) -> bool:
    """Tell whether a name is that of a constructor or another method that Python itself calls."""
    last = name.rpartition(".")[2]
    return last.startswith("__") and last.endswith("__")


def _gives_value(statement: ast.AST) -> bool:
    if not isinstance(statement, ast.Return) or statement.value is None:
        return False
    return not (isinstance(statement.value, ast.Constant) and statement.value.value is None)


def _own_statements(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the statements of a function, without those of functions and classes inside it."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting.extend(
                child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)
            )
