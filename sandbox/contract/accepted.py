"""The names of what an engine may lack: limits that it tells of itself, and behaviours."""

import difflib
from collections.abc import Iterable

from infra.errors import UnknownNameError
from sandbox.contract.behaviours import BEHAVIOURS

LIMITS = ("memory", "swap", "processes", "cpus", "seccomp")


def check_accepted(names: Iterable[str]) -> None:
    """Refuse names that are neither of a limit nor of a behaviour.

    Raises:
        UnknownNameError: There is one; the message has the name that was probably meant.
    """
    known = [*LIMITS, *(behaviour.name for behaviour in BEHAVIOURS)]
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise UnknownNameError(
                f"sandbox.accept_without: no limit and no behaviour is called {name!r}{hint}; the "
                f"limits are {', '.join(LIMITS)}, and `cosqa sandbox check` lists the behaviours"
            )
