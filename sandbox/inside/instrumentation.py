"""Instrumentation of a job's code, so that tests, asserts and calls are counted.

This is done in the runner's forks, which have the tools; the process that runs a job may be a new
interpreter, for which importing them would take longer than the job.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from types import CodeType

from sandbox.inside.failures import PROGRAM, TARGET, sides_at

# Modules of which no function is an assertion: the code, the program, and what does nothing.
_NO_ASSERTIONS = {None, "target", "__main__", "typing", "typing_extensions"}
# What reaches from a program into the interpreter of the code under test.
_SHARED = {
    "mock", "patch", "monkeypatch", "assertLogs", "assertWarns", "assertWarnsRegex",
    "catch_warnings", "warns", "stdin", "settrace", "setrecursionlimit", "getrecursionlimit",
    "__globals__", "__code__", "__builtins__", "builtins",
}  # fmt: skip
TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from sandbox.inside import Job


def instrument(job: Job) -> Job:
    """Return a job with ``code`` and ``program`` compiled; ``texts`` keeps them as they were.

    What does not compile becomes the name and the arguments of the error. ``names`` are what the
    compiled texts call: where a function of the target begins, where something is asserted, where a
    test is entered, and where an assertion failed or held after all. ``tests`` are the names of the
    tests that the program must have, ``shared`` is what in it needs the interpreter of the code.
    """
    called, *others = names = [f"_{os.urandom(8).hex()}" for _ in range(5)]
    target, program = texts = job["code"], job["program"]
    counter = ProgramCounter(*others)
    return {
        **job,
        "code": _compile(target, TARGET, TargetCounter(called)),
        "program": _compile(program, PROGRAM, counter),
        "tests": counter.required,
        "shared": counter.shared,
        "names": names,
        "texts": texts,
    }


class TargetCounter(ast.NodeTransformer):
    """Makes every function of the code under test call ``called`` first."""

    def __init__(self, called: str) -> None:
        self._called = called

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        """Count a function."""
        self.generic_visit(node)
        _insert(node, _call(self._called))
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - a name of `ast`


class ProgramCounter(ast.NodeTransformer):
    """Makes asserts, calls of ``assert…`` and ``raises``, and ``test…`` functions count.

    Such calls are those of methods, and of functions that the program imports and does not make
    itself.

    Statements that run the tests are left out, since all tests are run anyway, also after one that
    fails: calls of a ``test…`` function without arguments, and ``unittest.main()``, which exits.

    Args:
        asserted: Name of the function called for each assertion.
        entered: Name of the function called with a test function's name when it is entered.
        failed: Name of the function called with the place of an assertion that fails, or may.
        held: Name of the function called where the last of these did not fail.
    """

    def __init__(self, asserted: str, entered: str, failed: str, held: str) -> None:
        self._asserted = asserted
        self._entered = entered
        self._failed = failed
        self._held = held
        self._tests: set[str] = set()
        self._plain: list[str] = []
        self._bound: list[str] = []
        self._asserting: frozenset[str] = frozenset()
        self.shared = ""

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the module's own tests without parameters that nothing else in it may bind."""
        return tuple(name for name in self._plain if self._bound.count(name) == 1)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """Find the test functions, then count everything."""
        parts = list(ast.walk(node))
        self._asserting = imported_assertions(parts)
        words = (word for part in parts for word in _words_of(part))
        self.shared = next((word for word in words if word in _SHARED), "")
        tests = [
            part
            for part in node.body
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
            and part.name.startswith("test")
        ]
        self._tests = {test.name for test in tests}
        self._plain = [
            test.name
            for test in tests
            if not test.decorator_list
            and not any(isinstance(part, ast.arg) for part in ast.walk(test.args))
        ]
        self._bound = [name for part in parts for name in _names_bound_by(part)]
        return self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        """Count an assert before it is judged."""
        self.generic_visit(node)
        count = ast.copy_location(ast.Expr(_call(self._asserted)), node)
        note = ast.Expr(_call(self._failed, f"line {node.lineno}"))
        failing = ast.copy_location(ast.Assert(ast.Constant(value=False), node.msg), node)
        test = node.test
        if isinstance(test, ast.Compare) and len(test.comparators) == 1:
            # It keeps its two sides, so that a failure can tell of them.
            sides = zip(sides_at(node.lineno), (test.left, *test.comparators), strict=True)
            left, right = (ast.NamedExpr(ast.Name(name, ast.Store()), side) for name, side in sides)
            test = ast.copy_location(ast.Compare(left, test.ops, [right]), test)
        wrong = ast.UnaryOp(ast.Not(), test)
        return [count, ast.copy_location(ast.If(wrong, [note, failing], []), node)]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Count ``case.assertEqual(…)``, ``pytest.raises(…)`` and the like."""
        self.generic_visit(node)
        is_method = isinstance(node.func, ast.Attribute) and _is_asserting(node.func.attr)
        if is_method or (isinstance(node.func, ast.Name) and node.func.id in self._asserting):
            both = ast.Tuple([_call(self._asserted), node.func], ast.Load())
            node.func = ast.Subscript(both, ast.Constant(1), ast.Load())
            # An argument that is none, for it is the last thing that is done before the call.
            note = _call(self._failed, f"line {node.lineno}")
            pair = ast.Tuple([note, ast.Dict([], [])], ast.Load())
            nothing = ast.Subscript(pair, ast.Constant(1), ast.Load())
            node.keywords.append(ast.keyword(None, nothing))
            done = ast.Tuple([node, _call(self._held)], ast.Load())
            return ast.copy_location(ast.Subscript(done, ast.Constant(0), ast.Load()), node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Leave out what runs the tests."""
        match node.value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="unittest"), attr="main")):
                return ast.copy_location(ast.Pass(), node)
            case (
                ast.Call(func=ast.Name(id=name), args=[], keywords=[])
                | ast.Await(value=ast.Call(func=ast.Name(id=name), args=[], keywords=[]))
            ) if name in self._tests:
                return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        """Notice a test function."""
        self.generic_visit(node)
        if node.name.startswith("test"):
            _insert(node, _call(self._entered, f"{node.name}:{node.lineno}"))
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - a name of `ast`


def _compile(
    source: str, file: str, counter: ast.NodeTransformer
) -> CodeType | tuple[str, tuple[object, ...]]:
    try:
        tree = counter.visit(ast.parse(source, file))
        return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return type(error).__name__, error.args


def _is_asserting(name: str) -> bool:
    return name.startswith("assert") or name == "raises"


def imported_assertions(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Return the names of the functions ``assert…`` and ``raises`` that a program imports.

    The code under test has none, nor is a function one that the program itself makes, or whose
    name it binds to anything else. Gates ask it before the run.

    Args:
        nodes: All nodes of the program.
    """
    imported: dict[str, str] = {}
    bound: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            is_foreign = getattr(node, "module", None) not in _NO_ASSERTIONS
            for alias in node.names:
                if is_foreign and _is_asserting(alias.name):
                    imported[alias.asname or alias.name] = alias.name
                else:
                    bound.add(alias.asname or alias.name)
    for node in nodes if imported else ():
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.alias):
            bound.update(_names_bound_by(node), _other_names_bound_by(node))
    return frozenset(name for name, origin in imported.items() if bound.isdisjoint((name, origin)))


def _names_bound_by(node: ast.AST) -> list[str]:
    """Return the names that a node binds, unbinds or declares, itself."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.Global(names=names):
            return names
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.alias(name=name, asname=other):
            return [(other or name).partition(".")[0]]
    return []


def _other_names_bound_by(node: ast.AST) -> list[str]:
    """Return the names that parameters, handlers and patterns bind."""
    match node:
        case ast.arg(arg=name) | ast.MatchMapping(rest=str() as name):
            return [name]
        case (
            ast.ExceptHandler(name=str() as name)
            | ast.MatchAs(name=str() as name)
            | ast.MatchStar(name=str() as name)
        ):
            return [name]
    return []


def _words_of(node: ast.AST) -> list[str]:
    """Return the names that a node uses, and the text that may be one of Python's own."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
            return [name]
        case ast.Constant(value=str() as name) if name.startswith("__"):
            return [name]
        case ast.ImportFrom(module=str() as name) | ast.alias(name=name):
            return name.split(".")
    return []


def _insert(node: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call) -> None:
    """Put a call first, after the documentation."""
    first = 1 if ast.get_docstring(node, clean=False) is not None else 0
    node.body.insert(first, ast.Expr(call))


def _call(name: str, *arguments: str) -> ast.Call:
    constants: list[ast.expr] = [ast.Constant(argument) for argument in arguments]
    return ast.Call(ast.Name(name, ast.Load()), constants, [])
