"""Sandbox backends: what runs untrusted programs.

To add one, write a module or a package in this folder that registers a factory taking
`SandboxSettings` with ``@backends.register("name")`` under its own file name. `sandbox.contract`
judges it from then on, and each run does, once for each engine, where it is `Identified`.
"""

from collections.abc import Callable

from infra.registry import Registry
from infra.settings import SandboxSettings
from sandbox.base import Sandbox
from sandbox.contract.accepted import check_accepted

backends: Registry[Callable[[SandboxSettings], Sandbox]] = Registry(
    "sandbox backend", "sandbox.backends"
)


def make_sandbox(settings: SandboxSettings) -> Sandbox:
    """Return the sandbox that ``settings.backend`` names; it connects on first use.

    Raises:
        UnknownNameError: No backend has that name; the message lists those that exist. Or
            ``accept_without`` names what is neither a limit nor a behaviour.
    """
    check_accepted(settings.accept_without)
    return backends.get(settings.backend)(settings)
