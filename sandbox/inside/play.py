"""The run of a program in a child process, and the description of its failure.

A program can reach all that is here by walking the interpreter's frames, so nothing here can
report: ``play`` ends at one of two places, and the guard of ``child.py`` sees at which.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, ModuleType, TracebackType

from sandbox.inside.python2 import hint

TYPE_CHECKING = False  # as of `typing`, which takes longer to import than a job may take
if TYPE_CHECKING:
    from typing import Any

    Space = dict[str, Any]
    Compiled = CodeType | tuple[str, tuple[object, ...]]
    Call = Callable[[], object]

PROGRAM = "program.py"
TARGET = "target.py"
_COROUTINE = 0x80  # CO_COROUTINE, without importing inspect
_MESSAGE_CHARACTERS = 2000
_TRACEBACK_BYTES = 16_384
_SEPARATOR = "\0"
# What is reported of a failure, in this order, and the most characters of each.
FIELDS = {"outcome": 20, "error_type": 500, "message": 10_000, "missing_module": 500}
_NO_LIBRARY = ": cannot open shared object file"  # of the loader's message, after the file's name
_FORBIDDEN_OF_GC = {"gc.get_objects", "gc.get_referents", "gc.get_referrers"}
_FORBIDDEN_OF_SYS = {"sys._current_exceptions", "sys._current_frames"}
_FORBIDDEN_HOOKS = {"sys.addaudithook", "sys.setprofile", "sys.settrace"}
_FORBIDDEN = frozenset(
    {"cpython.PyInterpreterState_New"} | _FORBIDDEN_OF_GC | _FORBIDDEN_OF_SYS | _FORBIDDEN_HOOKS
)


def play(
    run_program: Call,
    raise_memory_limit: Call,
    start_guard: list[Callable[[FrameType], None]],
    error_report: list[bytes],
    signal_end: Call,
    block: Call,
) -> None:
    """Run a program; each outcome has its own two lines at the end, where the guard looks.

    Args:
        run_program: Runs the program and its tests.
        raise_memory_limit: Leaves some memory for the description of an error.
        start_guard: Holds what starts the guard over this call's frame; emptied, since it holds
            the secret.
        error_report: Takes the description of what the program raised.
        signal_end: Wakes the guard.
        block: Blocks for ever.
    """
    catch, report = BaseException, describe
    start_guard.pop()(sys._getframe())  # noqa: SLF001 - the guard reads the frame
    try:
        run_program()
    except catch as error:
        raise_memory_limit()
        error_report.append(report(error))
        signal_end()
        block()
    else:
        signal_end()
        block()


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
    text: str, load: Callable[[Space], None], entered: list[str], numpy_seed: int | None
) -> Call:
    """Return what runs a program as ``__main__``, and then its tests that it did not call itself.

    Args:
        text: The program's text.
        load: Runs it in a name space.
        entered: Names of the tests that were entered.
        numpy_seed: Seed of NumPy's random numbers, where NumPy is imported.
    """

    def run_program() -> None:
        if numpy_seed is not None:
            _seed_numpy(numpy_seed)
        module = sys.modules["__main__"] = ModuleType("__main__")
        module.__file__ = PROGRAM
        vars(module)["__loader__"] = Source(text)
        space = vars(module)
        load(space)
        for function in _uncalled_tests(space, entered):
            _await_result(function())
        _run_test_cases(space)

    return run_program


def _seed_numpy(seed: int) -> None:
    """Fix NumPy's own random numbers; where it cannot be imported, the program finds out."""
    try:  # noqa: SIM105 - contextlib is not there yet, and takes its time
        importlib.import_module("numpy").random.seed(seed)
    except Exception:  # noqa: BLE001, S110 - as above
        pass


def _uncalled_tests(space: Space, entered: list[str]) -> Iterator[Call]:
    """Yield the program's own ``test…`` functions without parameters that were not called yet."""
    for name, value in list(space.items()):
        if not (name.startswith("test") and isinstance(value, FunctionType)):
            continue
        code = value.__code__
        needed = code.co_argcount - len(value.__defaults__ or ())
        own = code.co_filename == PROGRAM and code.co_name not in entered
        if own and not needed and code.co_kwonlyargcount == len(value.__kwdefaults__ or {}):
            yield value


def _await_result(value: object) -> None:
    """Run what an ``async def`` test returned."""
    code = getattr(value, "cr_code", None)
    if code is not None and code.co_flags & _COROUTINE:
        import asyncio  # noqa: PLC0415 - costs what a run costs, and few need it

        asyncio.run(value)  # type: ignore[arg-type]


def _run_test_cases(space: Space) -> None:
    unittest = sys.modules.get("unittest")
    if unittest is None:
        return
    for value in list(space.values()):
        is_case = isinstance(value, type) and issubclass(value, unittest.TestCase)
        if is_case and value.__module__ == "__main__":
            unittest.defaultTestLoader.loadTestsFromTestCase(value).debug()


def describe(error: BaseException) -> bytes:
    """Return outcome, type, message and missing module of what a program raised."""
    outcome, missing = "raised", ""
    if isinstance(error, MemoryError):
        outcome = "memory"
    elif isinstance(error, ModuleNotFoundError):
        outcome, missing = "import_error", str(error.name or "").partition(".")[0]
    elif isinstance(error, ImportError) and _NO_LIBRARY in _text_of(error):
        outcome, missing = "import_error", _text_of(error).partition(_NO_LIBRARY)[0].split()[-1]
    elif isinstance(error, AssertionError) and _places(error)[-1:] != [(TARGET, 0)]:
        outcome = "assertion_failed"
    _print_traceback(error)
    fields = [outcome, type(error).__name__, _message(error), missing]
    limits = FIELDS.values()
    return _SEPARATOR.join(map(_field, fields, limits)).encode()


def _field(text: str, longest: int) -> str:
    """Return text that can be encoded, without separators, and no longer than that."""
    whole = text[:longest].replace(_SEPARATOR, "").encode(errors="backslashreplace")
    return whole.decode()[:longest]


def _places(error: BaseException) -> list[tuple[str, int]]:
    """Return file and line of each frame that the error went through; 0 for the target's lines."""
    places = []
    step = error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        places.append((file, 0 if file == TARGET else step.tb_lineno))
        step = step.tb_next
    return places


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - __str__ is the program's own
        return "(the exception cannot be shown)"


def _message(error: BaseException) -> str:
    """Return an exception's message, and the program's line that they are about.

    The line is known once the traceback has been shown.
    """
    import linecache  # noqa: PLC0415 - as in `_print_traceback`

    text = _text_of(error)
    if isinstance(error, SystemExit):
        text = f"the program called exit({text}) before its end"
    text = (text or type(error).__name__)[:_MESSAGE_CHARACTERS]
    if python_2 := hint(error):
        text = f"{text} [Python 2: {python_2}]"
    lines = [line for file, line in _places(error) if file == PROGRAM]
    if not lines:
        return text
    source = linecache.getline(PROGRAM, lines[-1]).strip()[:_MESSAGE_CHARACTERS]
    return f"{text} (line {lines[-1]}: {source})"


def _print_traceback(error: BaseException) -> None:
    """Write the program's traceback to stderr, where the runner keeps it."""
    import traceback  # noqa: PLC0415 - takes longer than a job may take, which few jobs need

    try:
        lines = traceback.format_exception(type(error), error, _own_traceback(error), limit=-20)
        os.write(2, "".join(lines).encode(errors="backslashreplace")[-_TRACEBACK_BYTES:])
    except Exception:  # noqa: BLE001 - all parts of a traceback may be the program's own
        os.write(2, b"(the traceback cannot be shown)\n")


def _own_traceback(error: BaseException) -> TracebackType | None:
    """Return the traceback from where the program's or the target's frames begin."""
    step = error.__traceback__
    while step is not None and step.tb_frame.f_code.co_filename not in (PROGRAM, TARGET):
        step = step.tb_next
    return step


def audit_hook(guard: int, identify: Callable[[], int]) -> Callable[[str, object], None]:
    """Return a hook that keeps programs from the guard's frame.

    In the guard's thread, where a program's callbacks can be made to run, it refuses everything.
    """
    forbidden, refusal = _FORBIDDEN, RuntimeError

    def hook(event: str, _arguments: object) -> None:
        if event in forbidden or identify() == guard:
            raise refusal(f"{event} is not available in a box")

    return hook
