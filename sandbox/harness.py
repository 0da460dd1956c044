"""Runs one test program inside the box and reports on it; the child of ``runner.py``.

Standard library only: its source is handed to the container's own interpreter, which reads one job
as JSON from stdin. The report goes down a pipe behind a secret that came with the job. Names are
taken before the program runs and looked up in a private copy of the built-ins, so that a program
that replaces ``json.dumps`` or ``builtins.len`` replaces nothing here.

What this does not cover: program and harness share one interpreter. A program that walks the
interpreter's frames with this file in mind can lie about itself; it cannot leave the box, touch
another run or speak for the runner. A lying program passes on every mutant too, and falls there.
"""

import ast
import builtins
import ctypes
import gc
import importlib.machinery
import json
import linecache
import os
import resource
import sys
import traceback
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

globals()["__builtins__"] = dict(vars(builtins))

PROGRAM = "program.py"
TARGET = "target.py"
_SET_DUMPABLE = 4
_MESSAGE_CHARACTERS = 2000
_COROUTINE = 0x80  # CO_COROUTINE, without importing inspect

Job = dict[str, Any]
Report = dict[str, Any]


class TargetCounter(ast.NodeTransformer):
    """Makes every function of the code under test count its calls."""

    def __init__(self, counter: str) -> None:
        self._counter = counter

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Count a function."""
        return self._counting(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Count a coroutine function."""
        return self._counting(node)

    def _counting(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        first = 1 if ast.get_docstring(node, clean=False) is not None else 0
        node.body.insert(first, _statement(_call(self._counter)))
        return node


class ProgramCounter(ast.NodeTransformer):
    """Makes asserts, methods called ``assert…`` and ``test…`` functions of a program count.

    A statement ``unittest.main()`` is left out: it would exit, and the harness runs the test cases
    itself.
    """

    def __init__(self, asserted: str, entered: str) -> None:
        self._asserted = asserted
        self._entered = entered

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        """Count an assert before it is judged."""
        self.generic_visit(node)
        return [ast.copy_location(_statement(_call(self._asserted)), node), node]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Count ``case.assertEqual(…)`` and its kin."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr.startswith("assert"):
            both = ast.Tuple([_call(self._asserted), node.func], ast.Load())
            node.func = ast.Subscript(both, ast.Constant(1), ast.Load())
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Leave ``unittest.main()`` out."""
        if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "unittest.main":
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Notice a test function."""
        return self._entering(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Notice an asynchronous test function."""
        return self._entering(node)

    def _entering(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        if node.name.startswith("test"):
            first = 1 if ast.get_docstring(node, clean=False) is not None else 0
            node.body.insert(first, _statement(_call(self._entered, node.name)))
        return node


def _call(name: str, *arguments: str) -> ast.Call:
    constants: list[ast.expr] = [ast.Constant(argument) for argument in arguments]
    return ast.Call(ast.Name(name, ast.Load()), constants, [])


def _statement(value: ast.expr) -> ast.stmt:
    return ast.Expr(value)


class TargetImporter:
    """Lets ``import target`` load the code under test, with its calls counted."""

    def __init__(self, source: str, count: Callable[[], None], name: str) -> None:
        self._source = source
        self._count = count
        self._name = name

    def find_spec(
        self, name: str, _path: object = None, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Claim the one name."""
        if name != "target":
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=TARGET)  # type: ignore[arg-type]

    def create_module(self, _spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Leave the making to the import system."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the code under test, its functions counting."""
        vars(module)[self._name] = self._count
        module.__file__ = TARGET
        exec(compiled(self._source, TARGET, TargetCounter(self._name)), vars(module))  # noqa: S102


def compiled(source: str, file: str, counter: ast.NodeTransformer) -> CodeType:
    """Return the instrumented code object of a source text."""
    tree = counter.visit(ast.parse(source, file))
    return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)


class Session:
    """One program's run: its name space, its counts and how it ended."""

    def __init__(self, job: Job) -> None:
        self.counts = {"tests_run": 0, "asserts_executed": 0, "target_calls": 0}
        self._job = job
        self._entered: set[str] = set()
        self._names = [f"_{os.urandom(8).hex()}" for _ in range(3)]
        self._space: dict[str, Any] = {}

    def report(self) -> Report:
        """Run the program to its end and say what happened."""
        try:
            self._execute()
        except BaseException as error:  # noqa: BLE001 - whatever a program raises is its result
            sys.settrace(None)
            return {**_ending(error), **self.counts}
        return {"outcome": "passed", **self.counts}

    def _execute(self) -> None:
        target, asserted, entered = self._names
        source, program = self._job["code"], self._job["program"]
        for file, text in ((TARGET, source), (PROGRAM, program)):
            linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        count = self._counter("target_calls")
        sys.meta_path.insert(0, TargetImporter(source, count, target))
        code = compiled(program, PROGRAM, ProgramCounter(asserted, entered))
        module = sys.modules["__main__"] = ModuleType("__main__")
        self._space = vars(module)
        self._space.update({"__builtins__": builtins, "__file__": PROGRAM})
        self._space.update({asserted: self._counter("asserts_executed"), entered: self._enter})
        exec(code, self._space)  # noqa: S102 - this is what the box is for
        for function in self._test_functions():
            _finish(function())
        self._run_test_cases()

    def _counter(self, name: str) -> Callable[[], None]:
        counts = self.counts

        def count() -> None:
            counts[name] += 1

        return count

    def _enter(self, name: str) -> None:
        self._entered.add(name)
        self.counts["tests_run"] += 1

    def _test_functions(self) -> Iterator[Callable[[], object]]:
        """Yield the program's own ``test…`` functions without parameters that nobody called."""
        for name, value in list(self._space.items()):
            if not (name.startswith("test") and isinstance(value, FunctionType)):
                continue
            code = value.__code__
            needed = code.co_argcount - len(value.__defaults__ or ())
            own = code.co_filename == PROGRAM and code.co_name not in self._entered
            if own and not needed and code.co_kwonlyargcount == len(value.__kwdefaults__ or {}):
                yield value

    def _run_test_cases(self) -> None:
        unittest = sys.modules.get("unittest")
        if unittest is None:
            return
        for value in list(self._space.values()):
            if (
                isinstance(value, type)
                and issubclass(value, unittest.TestCase)
                and value.__module__ == "__main__"
            ):
                unittest.defaultTestLoader.loadTestsFromTestCase(value).debug()


def _finish(value: object) -> None:
    """Run what an ``async def`` test returned."""
    code = getattr(value, "cr_code", None)
    if code is not None and code.co_flags & _COROUTINE:
        import asyncio  # noqa: PLC0415 - costs what a run costs, and few need it

        asyncio.run(value)  # type: ignore[arg-type]


def _ending(error: BaseException) -> Report:
    """Return outcome, type and message of what a program raised."""
    name = type(error).__name__
    report: Report = {"outcome": "raised", "error_type": name, "message": _message(error)}
    if isinstance(error, MemoryError):
        report["outcome"] = "memory"
    elif isinstance(error, ModuleNotFoundError) and error.name:
        report["outcome"] = "import_error"
        report["missing_module"] = error.name.partition(".")[0]
    elif isinstance(error, AssertionError) and _last_file(error) != TARGET:
        report["outcome"] = "assertion_failed"
    _print_traceback(error)
    return report


def _last_file(error: BaseException) -> str:
    frames = list(traceback.walk_tb(error.__traceback__))
    return frames[-1][0].f_code.co_filename if frames else ""


def _message(error: BaseException) -> str:
    """Return an exception's words; an assert without any is shown as its line."""
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - __str__ is the program's own
        text = "(the exception cannot be shown)"
    if isinstance(error, SystemExit):
        text = f"the program called exit({text}) before its end"
    lines = [
        line for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == PROGRAM
    ]  # fmt: skip
    if lines:
        source = linecache.getline(PROGRAM, lines[-1]).strip()
        text = f"{text or type(error).__name__} (line {lines[-1]}: {source})"
    return text[:_MESSAGE_CHARACTERS]


def _print_traceback(error: BaseException) -> None:
    """Write the program's traceback to stderr, where the runner keeps it."""
    own = error.__traceback__
    while own is not None and own.tb_frame.f_code.co_filename not in (PROGRAM, TARGET):
        own = own.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, own, limit=-20))
        os.write(2, text.encode(errors="replace")[-16_384:])
    except BaseException:  # noqa: BLE001 - as are all parts of a traceback
        os.write(2, b"(the traceback cannot be shown)\n")


def _send(pipe: int, secret: str, report: Report) -> None:
    data = f"{secret}{json.dumps(report)}".encode()
    while data:
        data = data[os.write(pipe, data) :]


def main() -> None:
    """Read a job from stdin, run it and report.

    ``os._exit`` at the end: nothing that the program left behind (threads, ``atexit``) runs on.
    """
    pipe = int(sys.argv[1])
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)  # nobody reads this memory through /proc
    job: Job = json.load(sys.stdin)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    resource.setrlimit(resource.RLIMIT_DATA, (job["memory"], job["memory"]))
    dumps, write, leave, send = json.dumps, os.write, os._exit, _send
    secret = job.pop("secret")
    session = Session(job)
    sys.argv = [PROGRAM]
    gc.freeze()  # hides the harness from gc.get_objects
    report = session.report()
    json.dumps, os.write = dumps, write
    sys.stdout = sys.stderr = None
    send(pipe, secret, report)
    leave(0)


if __name__ == "__main__":
    main()
