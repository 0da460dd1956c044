"""Tracebacks as text: through which files an exception went, and which one it was raised after.

A text may be a stranger's, or cut off at its beginning: what is read from it is never more than a
hint at whose fault a failure was.
"""

import re
from itertools import takewhile
from typing import NamedTuple

_HEADER = re.compile(r"^Traceback \(most recent call last\):\n", re.MULTILINE)
_LINKS = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_FRAME = re.compile(r'^  File "([^"\n]*)", line \d+, in (.+)$', re.MULTILINE)
_ERROR = re.compile(r"^([A-Za-z_][\w.]*)(?:: ?(.*))?$", re.MULTILINE)


class Frame(NamedTuple):
    """A call in a traceback: the file of the function and its name, ``<module>`` outside one."""

    file: str
    function: str


class Raised(NamedTuple):
    """An exception in a traceback.

    Attributes:
        error_type: The name of its type, without the module's.
        message: The first line of its message.
        frames: The calls that it went through, the innermost last.
    """

    error_type: str
    message: str
    frames: tuple[Frame, ...]


def exceptions_in(traceback: str) -> tuple[Raised, ...]:
    """Return the exceptions of the last traceback of a text, in the order in which they occurred.

    Each was raised while the one before it was handled.
    """
    *earlier, last = _HEADER.split(traceback)
    linked = takewhile(lambda part: part.rstrip().endswith(_LINKS), reversed(earlier))
    return (*map(_raised, reversed(tuple(linked))), _raised(last))


def _raised(part: str) -> Raised:
    found = list(_FRAME.finditer(part))
    error = _ERROR.search(part, found[-1].end() if found else 0)
    name, message = (error[1], error[2] or "") if error else ("", "")
    frames = tuple(Frame(match[1], match[2]) for match in found)
    return Raised(name.rpartition(".")[2], message, frames)
