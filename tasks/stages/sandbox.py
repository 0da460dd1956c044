"""The sandbox for the command line: its checks, the run of one program, and the clean-up."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from infra.errors import SandboxError
from infra.records import ExecutionResult
from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import CLOCK, Cleanable, Sandbox
from sandbox.contract.self_check import CheckResult, self_check


@asynccontextmanager
async def _opened(settings: SandboxSettings) -> AsyncIterator[Sandbox]:
    sandbox = make_sandbox(settings)
    try:
        yield sandbox
    finally:
        await sandbox.close()


async def description(settings: SandboxSettings) -> str:
    """Return the engine and the image that run code; errors as in ``Sandbox.check``."""
    async with _opened(settings) as sandbox:
        return await sandbox.check()


async def check_behaviours(settings: SandboxSettings) -> AsyncIterator[CheckResult]:
    """Yield whether the sandbox has each behaviour that it must have.

    Raises:
        SandboxError: The sandbox failed, which says nothing about its behaviours.
    """
    async with _opened(settings) as sandbox:
        async for finding in self_check(sandbox):
            yield finding


async def run_program(
    settings: SandboxSettings,
    program: str,
    code: str,
    requirements: Sequence[str],
    hash_seed: int,
    clock: float | None,
) -> ExecutionResult:
    """Return the result of a program that may ``import target``, the code.

    Without a ``clock`` (seconds since the epoch) it begins at the time that all programs do.

    Raises:
        SandboxError: The sandbox failed, or the requirements cannot be installed.
    """
    async with _opened(settings) as sandbox, sandbox.box(code) as box:
        installed = await box.install(requirements)
        if not installed.ok:
            raise SandboxError(
                f"{', '.join(requirements)} cannot be installed: {installed.message} "
                "Name distributions that have wheels for the image's Python."
            )
        return await box.run(program, hash_seed=hash_seed, clock=CLOCK if clock is None else clock)


async def clean(settings: SandboxSettings, *, everything: bool) -> int:
    """Remove containers and volumes of boxes; return how many.

    Args:
        settings: Which backend.
        everything: Also what belongs to processes that live, here or elsewhere, and the cache of
            wheels; else only what dead processes of this host left.
    """
    async with _opened(settings) as sandbox:
        if not isinstance(sandbox, Cleanable):
            raise SandboxError(f"the backend {settings.backend} cannot be cleaned from here.")
        return await sandbox.clean(everything=everything)
