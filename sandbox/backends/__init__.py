"""Sandbox backends: what runs untrusted programs.

To add one, write a module or a package in this folder that registers a factory taking
`SandboxSettings` with ``@backends.register("name")`` under its own file name. `sandbox.contract`
judges it from then on.
"""

from collections.abc import Callable

from infra.registry import Registry
from infra.settings import SandboxSettings
from sandbox.base import Sandbox

backends: Registry[Callable[[SandboxSettings], Sandbox]] = Registry(
    "sandbox backend", "sandbox.backends"
)


def make_sandbox(settings: SandboxSettings) -> Sandbox:
    """Return the sandbox that ``settings.backend`` names; it connects on first use.

    Raises:
        UnknownNameError: No backend has that name; the message lists those that exist.
    """
    return backends.get(settings.backend)(settings)
