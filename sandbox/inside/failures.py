"""The description of what a program and its tests raised."""

from __future__ import annotations

import os
from collections.abc import Callable

from sandbox.inside.python2 import hint

PROGRAM = "program.py"
TARGET = "target.py"
_MESSAGE_CHARACTERS = 2000
_TRACEBACK_BYTES = 16_384
_SEPARATOR = "\0"
# What is reported of a failure, in this order, and the most characters of each.
FIELDS = {"outcome": 20, "error_type": 500, "message": 10_000, "missing_module": 500}
# The same for each test, in bytes.
CASE_FIELDS = {"name": 200, "outcome": 20, "error_type": 200, "message": 600, "traceback": 1500}
_GRAVEST_FIRST = (b"memory", b"import_error", b"assertion_failed", b"raised", b"")
_LONGEST_SIDE = 120  # characters
_MOST_PARTS = 50  # of a side
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_BRACKETS: dict[type, str] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}", dict: "{}"}
_OF_PYTEST = "/_pytest/outcomes.py"  # which a ``raises`` that is not met and ``fail`` end in
_NO_LIBRARY = ": cannot open shared object file"  # of the loader's message, after the file's name


def describe(error: BaseException) -> bytes:
    """Return outcome, type, message and missing module of what a program raised."""
    outcome, missing, kind = "raised", "", type(error)  # not its class, which the code may name
    if issubclass(kind, MemoryError):
        outcome = "memory"
    elif issubclass(kind, ModuleNotFoundError):
        outcome, missing = "import_error", str(getattr(error, "name", None) or "").partition(".")[0]
    elif issubclass(kind, ImportError) and _NO_LIBRARY in _text_of(error):
        outcome, missing = "import_error", _text_of(error).partition(_NO_LIBRARY)[0].split()[-1]
    elif _is_failed_assertion(error):
        outcome = "assertion_failed"
    _traceback_of(error)  # so that the program's lines are known
    fields = [outcome, type(error).__name__, _message(error), missing]
    texts = []
    for text, longest in zip(fields, FIELDS.values(), strict=True):
        whole = text[:longest].replace(_SEPARATOR, "").encode(errors="backslashreplace")
        texts.append(whole.decode()[:longest])
    return _SEPARATOR.join(texts).encode()


def _is_failed_assertion(
    error: BaseException,
    is_a: Callable[[type, type], bool] = issubclass,
    kind_of: Callable[[object], type] = type,
) -> bool:
    """Return True if an assertion of the program failed, one that pytest makes included.

    Code under test may have changed the built-in function, but no default.
    """
    file, line = (_places(error) or [("", 0)])[-1]
    if type(error).__name__ == "Failed" and file.endswith(_OF_PYTEST):
        return (TARGET, 0) not in _places(error)
    return is_a(kind_of(error), AssertionError) and (file, line) != (TARGET, 0)


def describe_end(error: BaseException) -> bytes:
    """Return the result of ``describe``, and print the traceback."""
    description = describe(error)
    _print_traceback(error)
    return description


def note_failure(
    case_reports: list[bytes], name: bytes, error: BaseException, gravest: bytes
) -> bytes:
    """Note a test that failed, and return the description of the gravest failure so far.

    The traceback is printed where this failure is the graver one.

    Args:
        case_reports: Takes the test's fields.
        name: The test's name.
        error: What it raised.
        gravest: The description of the gravest failure before; empty where there was none.
    """
    description = describe(error)
    outcome, error_type, message, _ = description.decode().split(_SEPARATOR)
    limits = list(CASE_FIELDS.values())
    texts = map(_bytes, (outcome, error_type, message), limits[1:])
    traceback = _bytes(_traceback_of(error)[-limits[-1] :], 0, limits[-1])
    case_reports.append(b"\0".join((name, *texts, traceback)))
    first, second = (text.partition(b"\0")[0] for text in (description, gravest))
    if _GRAVEST_FIRST.index(first) >= _GRAVEST_FIRST.index(second):
        return gravest  # also of an equal one, which is the earlier
    _print_traceback(error)
    return description


def name_of_case(name: str) -> bytes:
    """Return the name of a test as it is reported."""
    return _bytes(name, CASE_FIELDS["name"])


def _bytes(text: str, most: int, last: int = 0) -> bytes:
    """Return the ``most`` first bytes of a text, or the ``last``, without separators and halves."""
    whole = text.replace(_SEPARATOR, "").encode(errors="backslashreplace")
    return (whole[-last:] if last else whole[:most]).decode(errors="ignore").encode()


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
    if issubclass(type(error), SystemExit):
        text = f"the program called exit({text}) before its end"
    text = (text or type(error).__name__)[:_MESSAGE_CHARACTERS] + _sides_of(error)
    if python_2 := hint(error):
        text = f"{text} [Python 2: {python_2}]"
    lines = [line for file, line in _places(error) if file == PROGRAM]
    if not lines:
        return text
    source = linecache.getline(PROGRAM, lines[-1]).strip()[:_MESSAGE_CHARACTERS]
    return f"{text} (line {lines[-1]}: {source})"


def sides_at(line: int) -> tuple[str, str]:
    """Return the variables in which a program keeps the sides of the comparison asserted there."""
    return f"_left_{line}", f"_right_{line}"


def _sides_of(error: BaseException) -> str:
    """Return the two sides of the comparison that failed, "" where it is none of the program's."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None or not issubclass(type(error), AssertionError):
        return ""
    names, kept = sides_at(step.tb_lineno), step.tb_frame.f_locals
    if step.tb_frame.f_code.co_filename != PROGRAM or not kept.keys() >= set(names):
        return ""
    left, right = (_shown(kept[name])[:_LONGEST_SIDE] for name in names)
    return f": {left} on the left, {right} on the right"


def _shown(value: object, levels: int = 5) -> str:
    """Return a value as text; of what is not of Python's plain types, which could run, the kind."""
    kind: type = type(value)
    if kind in _PLAIN:
        return repr(value[:_LONGEST_SIDE] if isinstance(value, str | bytes) else value)
    if kind not in _BRACKETS or not levels:
        return f"<{kind.__name__}>"
    parts: list[str] = []
    items = value.items() if isinstance(value, dict) else value
    for part in items:  # type: ignore[attr-defined]  # each of these kinds can be gone through
        if len(parts) == _MOST_PARTS:
            parts.append("…")
            break
        both = part if isinstance(value, dict) else (part,)
        parts.append(": ".join(_shown(one, levels - 1) for one in both))
    return ", ".join(parts).join(_BRACKETS[kind])


def _traceback_of(error: BaseException) -> str:
    """Return the end of the program's traceback as text."""
    import traceback  # noqa: PLC0415 - takes longer than a job may take, which few jobs need

    try:
        own = error.__traceback__  # from where the program's or the target's frames begin
        while own is not None and own.tb_frame.f_code.co_filename not in (PROGRAM, TARGET):
            own = own.tb_next
        lines = traceback.format_exception(type(error), error, own, limit=-20)
        return "".join(lines)[-_TRACEBACK_BYTES:]
    except Exception:  # noqa: BLE001 - all parts of a traceback may be the program's own
        return "(the traceback cannot be shown)\n"


def _print_traceback(error: BaseException) -> None:
    """Write the program's traceback to stderr, where the runner keeps it."""
    os.write(2, _traceback_of(error).encode(errors="backslashreplace")[-_TRACEBACK_BYTES:])
