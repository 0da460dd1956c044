"""One behaviour of a box as data, and short forms for the common kinds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

CODE = '''def double(number):
    """Return twice the number."""
    return number + number
'''
PASSES = "from target import double\nassert double(2) == 4\n"
REFUSED = frozenset({"OSError", "PermissionError", "gaierror", "ConnectionError"})


@dataclass(frozen=True)
class Behaviour:
    """A program and what its result must be.

    Attributes:
        name: What every box does, as a sentence without its full stop.
        program: What is run.
        expects: Fields of the ``ExecutionResult`` and their values; a frozenset lists alternatives.
        code: The code under test.
        before: A program that is run first in the same box; its result is ignored.
        before_code: The code under test of that program, where it has another.
        again: Run a second time, with the ``same`` or an ``other`` seed and clock, it must print
            the same or something else.
        language: The language of the box.
    """

    name: str
    program: str
    expects: Mapping[str, object]
    code: str = CODE
    before: str = ""
    again: Literal["", "same", "other"] = ""
    before_code: str | None = None
    language: str = "python"


def refused(name: str, program: str) -> Behaviour:
    """Return the behaviour that a program is refused what it asks of the system."""
    return Behaviour(name, program, {"outcome": "raised", "error_type": REFUSED})


def ends(name: str, program: str, outcome: str, **fields: object) -> Behaviour:
    """Return the behaviour that a program ends in this way, with these fields of the result."""
    return Behaviour(name, program, {"outcome": outcome, **fields})


def prints(name: str, program: str, text: str) -> Behaviour:
    """Return the behaviour that a program passes and prints exactly this."""
    return Behaviour(name, program, {"outcome": "passed", "stdout": text})


def whole_after(name: str, before: str, program: str = PASSES) -> Behaviour:
    """Return the behaviour that a program passes in a box where another one ran before."""
    return Behaviour(name, program, {"outcome": "passed"}, before=before)
