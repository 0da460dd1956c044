"""Finds the sandbox backend that the settings name."""

from collections.abc import Callable

from infra.registry import Registry
from infra.settings import SandboxSettings
from sandbox.base import Sandbox

backends: Registry[Callable[[SandboxSettings], Sandbox]] = Registry("sandbox backend", "sandbox")


def make_sandbox(settings: SandboxSettings) -> Sandbox:
    """Return the sandbox that ``settings.backend`` names; it connects on first use.

    Raises:
        UnknownNameError: No backend has that name; the message lists those that exist.
    """
    return backends.get(settings.backend)(settings)
