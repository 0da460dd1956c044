"""The sandbox commands' work: checks, people's programs, and the clean-up."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from infra.errors import SandboxError
from infra.records import ExecutionResult
from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import Cleanable, Sandbox
from sandbox.contract import BEHAVIOURS_OF_ALL_LANGUAGES
from sandbox.contract.check import CheckResult, check_engine

_AT_ONCE = 8  # boxes of people's programs; the machine's slots bound them too
_log = logging.getLogger(__name__)


@asynccontextmanager
async def _opened(settings: SandboxSettings) -> AsyncIterator[Sandbox]:
    sandbox = make_sandbox(settings)
    try:
        yield sandbox
    finally:
        await sandbox.close()


async def description(settings: SandboxSettings) -> str:
    """Return a description of the engine and the image; errors as in ``Sandbox.check``."""
    async with _opened(settings) as sandbox:
        return await sandbox.check()


async def check_behaviours(settings: SandboxSettings, language: str) -> list[CheckResult]:
    """Check each behaviour of a language's boxes; persist the results for runs."""
    behaviours = [each for each in BEHAVIOURS_OF_ALL_LANGUAGES if each.language == language]
    return await check_engine(settings, behaviours)


async def run_programs(
    settings: SandboxSettings, programs: Sequence[tuple[str, str]]
) -> list[ExecutionResult]:
    """Run test programs of people, each in a box of its own around its code; return their results.

    A program may import its code as ``target``.
    """
    slots = asyncio.Semaphore(_AT_ONCE)
    async with _opened(settings) as sandbox:

        async def run(program: str, code: str) -> ExecutionResult:
            async with slots, sandbox.box(code) as box:
                return await box.run(program)

        return list(await asyncio.gather(*(run(*pair) for pair in programs)))


async def clean(settings: SandboxSettings, *, everything: bool) -> int:
    """Remove containers and volumes of the sandbox; return how many.

    Args:
        settings: The sandbox's settings.
        everything: Remove those of running processes too, on any host, and the cache of wheels;
            else only those of ended processes of this host.
    """
    async with _opened(settings) as sandbox:
        if not isinstance(sandbox, Cleanable):
            raise SandboxError(f"the backend {settings.backend} has nothing to clean up.")
        return await sandbox.clean(everything=everything)
