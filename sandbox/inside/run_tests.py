"""The run of a program and its tests in a child process, and the description of their failures.

A program can reach all that is here by walking the interpreter's frames, so nothing here can
report: ``run_tests`` waits at one of two places after each test, at one of two others at the end,
and the guard of ``child.py`` sees at which.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, ModuleType

from sandbox.inside.collection import (
    cases_of,
    functions_of,
    require,
    went_through_a_test,
    with_hidden_failures,
)
from sandbox.inside.failures import PROGRAM, TARGET, describe_end, note_failure

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from typing import Any

    from sandbox.inside import Space
    from sandbox.inside.collection import Call, Definitions, Tests

    Compiled = CodeType | tuple[str, tuple[object, ...]]

# Of what is used after a program ran.
_OWN_SPACES = (globals(), functions_of.__globals__, describe_end.__globals__)
_FORBIDDEN_OF_GC = {"gc.get_objects", "gc.get_referents", "gc.get_referrers"}
_FORBIDDEN_OF_SYS = {"sys._current_exceptions", "sys._current_frames"}
_FORBIDDEN_HOOKS = {"sys.addaudithook", "sys.setprofile", "sys.settrace"}
_FORBIDDEN = frozenset(
    {"cpython.PyInterpreterState_New"} | _FORBIDDEN_OF_GC | _FORBIDDEN_OF_SYS | _FORBIDDEN_HOOKS
)


def run_tests(
    run_program: Callable[[], Iterator[tuple[bytes, Call]]],
    raise_memory_limit: Call,
    start_guard: list[Callable[[FrameType], None]],
    reports: tuple[list[bytes], list[bytes]],
    signal_guard: Callable[[None], None],
    wait_for_guard: Call,
) -> None:
    """Run a program and its tests; each outcome has its own two lines, where the guard looks.

    What failed is kept where the program cannot write: in this frame's place and plain variables.

    Args:
        run_program: Runs the program and returns its tests.
        raise_memory_limit: Leaves some memory for the description of an error.
        start_guard: Holds what starts the guard over this call's frame; emptied, so that no
            program finds it.
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
                signal_guard(None)
                wait_for_guard()
            else:
                case_reports.append(name)
                signal_guard(None)
                wait_for_guard()
    except catch as error:
        failed = True
        raise_memory_limit()
        gravest = tell(error)
    error_report[:] = (gravest,)
    if failed:
        signal_guard(None)
        wait_for_guard()
    else:
        signal_guard(None)
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


class NumpySeeder:
    """Fixes NumPy's own random numbers when it is imported, by whatever asks for it.

    Args:
        seed: The seed.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def find_spec(
        self,
        name: str,
        path: Any = None,  # noqa: ANN401 - as imports have it
        _target: object = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the specification of ``numpy.random``, whose loader seeds it at the end."""
        if name != "numpy.random":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_seed(module: Any) -> None:  # noqa: ANN401 - of NumPy
            execute(module)
            try:  # noqa: SIM105 - contextlib is not there yet, and takes its time
                module.seed(self._seed)
            except Exception:  # noqa: BLE001, S110 - another's package of that name
                pass

        spec.loader.exec_module = execute_and_seed  # type: ignore[method-assign]
        return spec


def loader(code: Compiled, names: Space) -> Callable[[Space], None]:
    """Return a function that runs the code with ``names`` in its name space, or raises the error.

    Args:
        code: A code object, or the name and the arguments of the error that compiling raised.
        names: What the compiled code calls to be counted.
    """

    def load(space: Space) -> None:
        if isinstance(code, tuple):
            name, arguments = code
            raise getattr(builtins, name)(*arguments)
        # The module itself, so that a program can patch `open` for the code; ours is a copy.
        space.update(names, __builtins__=builtins)
        exec(code, space)  # noqa: S102 - this is what the box is for

    return load


def program_runner(
    text: str,
    load: Callable[[Space], None],
    definitions: Definitions,
    failures: list[str],
    *,
    needs_numpy: bool,
) -> Callable[[], Iterator[tuple[bytes, Call]]]:
    """Return a function that runs a program as ``__main__`` and yields its tests.

    Args:
        text: The program's text.
        load: Runs it in a name space.
        definitions: Tests that must be there when it ran to its end.
        failures: Has the places of assertions of the program that failed.
        needs_numpy: Whether a text imports NumPy, as `imports_numpy` says.
    """

    def run_program() -> Iterator[tuple[bytes, Call]]:
        # Found now: after the program ran, these names may stand for something else.
        functions, cases, called_a_test = functions_of, cases_of, went_through_a_test
        again, name, catch = _raising, PROGRAM.encode(), BaseException
        demand, tests, whole, checked = require, definitions, tuple, with_hidden_failures
        if needs_numpy:
            load_numpy()
        module = sys.modules["__main__"] = ModuleType("__main__")
        module.__file__ = PROGRAM
        vars(module)["__loader__"] = Source(text)
        space = vars(module)
        own_calls: Tests = ()
        try:
            load(space)
        except catch as error:
            if not called_a_test(error):
                raise
            own_calls = ((name, again(error)),)
        items = whole(space.items())  # once: threads of the program may go on changing it
        if not own_calls:
            demand(items, space, tests)
        return checked((*functions(items), *cases(items), *own_calls), failures)

    return run_program


def _raising(error: BaseException) -> Call:
    """Return a function that raises the error of a program's own call, even if its tests pass."""

    def raise_again() -> None:
        raise error

    return raise_again


def imports_numpy(text: str) -> bool:
    """Return True if a line of a text imports NumPy, which takes ten times as long as a run."""
    return any("numpy" in line and "import" in line for line in text.splitlines())


def load_numpy() -> None:
    """Import NumPy before a text does: where that fails, the text finds out."""
    try:  # noqa: SIM105 - as above
        importlib.import_module("numpy.random")
    except Exception:  # noqa: BLE001, S110 - as above
        pass


def audit_hook(guard: int, identify: Callable[[], int]) -> Callable[[str, Any], None]:
    """Return a hook that keeps programs from the guard's frame, and functions as they are.

    In the guard's thread, where a program's callbacks can be made to run, it refuses everything.
    """
    forbidden, refusal, is_kept = _FORBIDDEN, RuntimeError, _is_kept

    def hook(event: str, arguments: Any) -> None:  # noqa: ANN401 - each event has its own
        if event in forbidden or identify() == guard:
            raise refusal(f"{event} is not available in a box")
        if event == "object.__setattr__" and is_kept(*arguments):
            raise refusal("this function cannot be changed in a box")

    return hook


def _is_kept(
    function: Any,  # noqa: ANN401 - whatever a program changes
    attribute: str,
    value: Any,  # noqa: ANN401 - as above
    spaces: tuple[Space, ...] = _OWN_SPACES,
    program: str = PROGRAM,
) -> bool:
    """Return True if an attribute must stay as it is: code and defaults of the harness's functions.

    No function of a program gets other code: the code under test could empty its tests that way.
    """
    if attribute not in {"__code__", "__defaults__", "__kwdefaults__"}:
        return False
    for space in spaces:
        if function.__globals__ is space:
            return True
    code = function.__code__
    if attribute != "__code__" or code.co_filename != program:
        return False
    is_same: bool = value.replace(co_flags=code.co_flags) == code  # as `types.coroutine` does
    return not is_same
