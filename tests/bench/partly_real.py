"""A sandbox backend for benchmarks whose boxes are real for some codes and stubs for the rest."""

import os
from contextlib import AbstractAsyncContextManager

from infra.settings import SandboxSettings
from sandbox.backends import backends, make_sandbox
from sandbox.base import Box
from tests.agents.judging import made_up_sandbox

NAME = "partly-real"
REAL = "BENCH_REAL_BOXES"
"""Environment variable: one of every so many codes of `tests.agents.judging.pairs`; 0 is none."""


class PartlyReal:
    """A sandbox whose boxes are real for every so many codes of `tests.agents.judging.pairs`.

    Args:
        settings: Those of the real ones.
        every: One of so many codes has a real box; 0 gives none to any.
    """

    def __init__(self, settings: SandboxSettings, every: int) -> None:
        self._every = every
        self._engine = make_sandbox(settings)
        self._stub = made_up_sandbox()

    async def check(self) -> str:
        """Return what runs the real ones."""
        return await self._engine.check() if self._every else "stub"

    def box(
        self, code: str, *, bare: bool = False, language: str = "python"
    ) -> AbstractAsyncContextManager[Box]:
        """Return a box of either kind."""
        number = int(code.rpartition("x + ")[2])
        is_real = self._every > 0 and number % self._every == 0
        return (self._engine if is_real else self._stub).box(code, bare=bare)

    async def close(self) -> None:
        """Remove the real boxes."""
        await self._engine.close()


def register() -> None:
    """Register the backend, in whichever process calls this."""

    def make(settings: SandboxSettings) -> PartlyReal:
        every = int(os.environ.get(REAL, "0"))
        return PartlyReal(settings.model_copy(update={"backend": "docker"}), every)

    if NAME not in backends._entries:
        backends.register(NAME)(make)
