"""The clock that a program reads, which starts at a time given and goes on from there.

The C part of the library time-machine makes ``time`` and ``datetime`` ask its Python part for the
time of day. That part takes longer to import than a job may take, so a `Traveller` replaces it. In
an image without the library programs read the machine's clock. The kernel's own times, such as
those of files, and those of ``time.ctime()`` are never changed.
"""

from __future__ import annotations

import importlib
import sys
import time
from types import ModuleType

_FOLDER = "/opt/packages"
_NANOSECONDS = 1_000_000_000


class Traveller:
    """The time of day for the library, in nanoseconds since the epoch.

    Args:
        start: Seconds since the epoch at which the clock begins.
    """

    def __init__(self, start: float) -> None:
        self._offset = round(start * _NANOSECONDS) - time.monotonic_ns()

    def time_ns(self) -> int:
        """Return the time of day."""
        return self._offset + time.monotonic_ns()


_library: ModuleType | None
sys.path.append(_FOLDER)
try:
    _library = importlib.import_module("_time_machine")
except ImportError:
    _library = None
finally:
    sys.path.remove(_FOLDER)


def set_clock(start: float) -> None:
    """Let this process read a clock that begins at ``start``, in seconds since the epoch."""
    if _library is None:
        return
    stand_in = sys.modules["time_machine"] = ModuleType("time_machine")
    vars(stand_in).update(_time_machine=_library, traveller_stack=[Traveller(start)])
    _library.patch()
