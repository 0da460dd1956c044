"""Sandbox backends: what runs untrusted programs.

To add one, write a module or a package in this folder that registers a factory taking
`SandboxSettings` with ``@backends.register("name")`` under its own file name. `sandbox.contract`
judges it from then on, and each run does, once for each engine, where it is `Identified`.
"""

import difflib
from collections.abc import Callable

from infra.errors import UnknownNameError
from infra.registry import Registry
from infra.settings import SandboxSettings
from sandbox.base import Sandbox
from sandbox.contract import BEHAVIOURS_OF_ALL_LANGUAGES

_LIMITS = ("memory", "swap", "processes", "cpus", "seccomp")  # which an engine reports itself

backends: Registry[Callable[[SandboxSettings], Sandbox]] = Registry(
    "sandbox backend", "sandbox.backends"
)


def make_sandbox(settings: SandboxSettings) -> Sandbox:
    """Return the sandbox that ``settings.backend`` names; it connects on first use.

    Raises:
        UnknownNameError: No backend has that name; the message lists those that exist. Or
            ``accept_without`` names what is neither a limit nor a behaviour.
    """
    known = [*_LIMITS, *(behaviour.name for behaviour in BEHAVIOURS_OF_ALL_LANGUAGES)]
    for name in settings.accept_without:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise UnknownNameError(
                f"sandbox.accept_without: no limit and no behaviour is called {name!r}{hint}; the "
                f"limits are {', '.join(_LIMITS)}, and `cosqa sandbox check` lists the behaviours"
            )
    return backends.get(settings.backend)(settings)
