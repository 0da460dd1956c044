"""CoSQA+'s filter of functions that a test program can judge.

Source: Gong et al., "CoSQA+: Pioneering the Multi-Choice Code Search Benchmark with Test-Driven
Agents", the section on collecting the code base: a function is kept when it has at least one input
parameter and a ``return`` statement with a value, for only then can a test give it something and
look at what comes back.
"""

import ast
from collections.abc import Iterator

from tasks.filters import CorpusFunction, filters
from tasks.filters._special import SPECIAL, is_special

NO_PARAMETER = "no input parameter"
NO_RESULT = "no return with a value"

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@filters.register("testable")
class HasInputAndResult:
    """Keeps functions with an input parameter and a returned value, special methods aside."""

    def reason_to_drop(self, function: CorpusFunction) -> str | None:
        """Return why no test program could judge a function, or None when one can."""
        if function.syntax is None:
            return function.parse_error
        if is_special(function.syntax.node.name):
            return SPECIAL
        if not function.syntax.parameters:
            return NO_PARAMETER
        if not any(map(_returns_value, _own_statements(function.syntax.node.body))):
            return NO_RESULT
        return None


def _returns_value(statement: ast.AST) -> bool:
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
