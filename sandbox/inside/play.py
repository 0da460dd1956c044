"""The run of a program and its tests in a child process, and the description of their failures.

A program can reach all that is here by walking the interpreter's frames, so nothing here can
report: ``play`` waits at one of two places after each test, and at one of two others at the end,
and the guard of ``child.py`` sees at which.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, ModuleType

from sandbox.inside.failures import (
    PROGRAM,
    TARGET,
    describe_end,
    name_of_case,
    note_failure,
)

TYPE_CHECKING = False  # as of `typing`, which takes longer to import than a job may take
if TYPE_CHECKING:
    from typing import Any

    Space = dict[str, Any]
    Compiled = CodeType | tuple[str, tuple[object, ...]]
    Call = Callable[[], object]
    Tests = tuple[tuple[bytes, Call], ...]  # names and what runs them

_COROUTINE = 0x80  # CO_COROUTINE, without importing inspect
_WRAPPERS = 10  # decorators around a test, one in the other
_FORBIDDEN_OF_GC = {"gc.get_objects", "gc.get_referents", "gc.get_referrers"}
_FORBIDDEN_OF_SYS = {"sys._current_exceptions", "sys._current_frames"}
_FORBIDDEN_HOOKS = {"sys.addaudithook", "sys.setprofile", "sys.settrace"}
_FORBIDDEN = frozenset(
    {"cpython.PyInterpreterState_New"} | _FORBIDDEN_OF_GC | _FORBIDDEN_OF_SYS | _FORBIDDEN_HOOKS
)


def play(
    run_program: Callable[[], Tests],
    raise_memory_limit: Call,
    start_guard: list[Callable[[FrameType], None]],
    reports: tuple[list[bytes], list[bytes]],
    signal_guard: Call,
    wait_for_guard: Call,
) -> None:
    """Run a program and its tests; each outcome has its own two lines, where the guard looks.

    What failed is kept where the program cannot write: in this frame's place and plain variables.

    Args:
        run_program: Runs the program and returns its tests.
        raise_memory_limit: Leaves some memory for the description of an error.
        start_guard: Holds what starts the guard over this call's frame; emptied, since it holds
            the secret.
        reports: Take the description of the error that counts, and that of each test.
        signal_guard: Wakes the guard.
        wait_for_guard: Blocks until the guard has seen the outcome of a test; at the end for ever.
    """
    catch, tell, tell_case = BaseException, describe_end, note_failure
    failed, gravest, name = False, b"", b""
    error_report, case_reports = reports
    start_guard.pop()(sys._getframe())  # noqa: SLF001 - the guard reads the frame
    try:
        for name, test in run_program():
            try:
                test()
            except catch as error:
                failed = True
                raise_memory_limit()
                gravest = tell_case(case_reports, name, error, gravest)
                signal_guard()
                wait_for_guard()
            else:
                case_reports.append(name)
                signal_guard()
                wait_for_guard()
    except catch as error:
        failed = True
        raise_memory_limit()
        gravest = tell(error)
    error_report[:] = (gravest,)
    if failed:
        signal_guard()
        wait_for_guard()
    else:
        signal_guard()
        wait_for_guard()


class Source:
    """The text of a module for ``inspect`` and ``linecache``.

    Args:
        text: The module's text, which is in no file.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def get_source(self, _name: str) -> str:
        """Return the text."""
        return self._text


class Importer(Source):
    """Lets ``import target`` load the code under test.

    Args:
        text: The code's text.
        load: Fills the module's name space.
    """

    def __init__(self, text: str, load: Callable[[Space], object]) -> None:
        super().__init__(text)
        self._load = load

    def find_spec(
        self, name: str, _path: object = None, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the specification of ``target``."""
        if name != "target":
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=TARGET)  # type: ignore[arg-type]

    def create_module(self, _spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Return None: the import system makes the module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the code under test."""
        module.__file__ = TARGET
        self._load(vars(module))


def loader(code: Compiled, names: Space) -> Callable[[Space], None]:
    """Return what runs the code in a name space that also has ``names``, or raises the error.

    Args:
        code: A code object, or the name and the arguments of the error that compiling raised.
        names: What the compiled code calls to be counted.
    """

    def load(space: Space) -> None:
        if isinstance(code, tuple):
            name, arguments = code
            raise getattr(builtins, name)(*arguments)
        space.update(names)
        exec(code, space)  # noqa: S102 - this is what the box is for

    return load


def program_runner(
    text: str, load: Callable[[Space], None], numpy_seed: int | None
) -> Callable[[], Tests]:
    """Return what runs a program as ``__main__`` and returns its tests.

    Args:
        text: The program's text.
        load: Runs it in a name space.
        numpy_seed: Seed of NumPy's random numbers, where NumPy is imported.
    """

    def run_program() -> Tests:
        if numpy_seed is not None:
            _seed_numpy(numpy_seed)
        module = sys.modules["__main__"] = ModuleType("__main__")
        module.__file__ = PROGRAM
        vars(module)["__loader__"] = Source(text)
        space = vars(module)
        own_calls: Tests = ()
        try:
            load(space)
        except BaseException as error:
            if not _went_through_a_test(error):
                raise
            own_calls = ((PROGRAM.encode(), _raising(error)),)
        return (*_test_functions(space), *_test_cases(space), *own_calls)

    return run_program


def _went_through_a_test(error: BaseException) -> bool:
    """Return whether an error comes out of a test that the program called itself."""
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename == PROGRAM and code.co_name.startswith("test"):
            return True
        step = step.tb_next
    return False


def _raising(error: BaseException) -> Call:
    """Return what raises the error of a program's own call, also where its tests pass later."""

    def raise_again() -> None:
        raise error

    return raise_again


def _seed_numpy(seed: int) -> None:
    """Fix NumPy's own random numbers; where it cannot be imported, the program finds out."""
    try:  # noqa: SIM105 - contextlib is not there yet, and takes its time
        importlib.import_module("numpy").random.seed(seed)
    except Exception:  # noqa: BLE001, S110 - as above
        pass


def _test_functions(space: Space) -> Iterator[tuple[bytes, Call]]:
    """Yield the program's own ``test…`` functions that need no argument."""
    seen = []
    for name, value in list(space.items()):
        if not (name.startswith("test") and isinstance(value, FunctionType)) or value in seen:
            continue
        code = value.__code__
        needed = code.co_argcount - len(value.__defaults__ or ())
        needs_none = not needed and code.co_kwonlyargcount == len(value.__kwdefaults__ or {})
        if needs_none and _innermost(value).__code__.co_filename == PROGRAM:
            seen.append(value)
            yield name_of_case(name), _awaiting(value)


def _innermost(function: FunctionType) -> FunctionType:
    """Return the function inside its decorators."""
    for _ in range(_WRAPPERS):
        wrapped = getattr(function, "__wrapped__", None)
        if not isinstance(wrapped, FunctionType):
            break
        function = wrapped
    return function


def _awaiting(function: Call) -> Call:
    """Return what calls a test and runs what an ``async def`` test returned."""
    return lambda: _await_result(function())


def _await_result(value: object) -> None:
    """Run what an ``async def`` test returned."""
    code = getattr(value, "cr_code", None)
    if code is not None and code.co_flags & _COROUTINE:
        import asyncio  # noqa: PLC0415 - costs what a run costs, and few need it

        asyncio.run(value)  # type: ignore[arg-type]


def _test_cases(space: Space) -> Iterator[tuple[bytes, Call]]:
    """Yield the tests of the program's own test cases, each with what its class sets up."""
    unittest = sys.modules.get("unittest")
    if unittest is None:
        return
    for value in list(space.values()):
        is_case = isinstance(value, type) and issubclass(value, unittest.TestCase)
        if is_case and value.__module__ == "__main__":
            for case in unittest.defaultTestLoader.loadTestsFromTestCase(value):
                name = ".".join(case.id().split(".")[-2:])
                yield name_of_case(name), unittest.TestSuite([case]).debug


def audit_hook(guard: int, identify: Callable[[], int]) -> Callable[[str, object], None]:
    """Return a hook that keeps programs from the guard's frame.

    In the guard's thread, where a program's callbacks can be made to run, it refuses everything.
    """
    forbidden, refusal = _FORBIDDEN, RuntimeError

    def hook(event: str, _arguments: object) -> None:
        if event in forbidden or identify() == guard:
            raise refusal(f"{event} is not available in a box")

    return hook
