"""The sandbox commands' work: checks, the run of one program, and the clean-up."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from infra.errors import SandboxError
from infra.records import ExecutionResult
from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import CLOCK, Cleanable, Sandbox
from sandbox.contract.behaviours import BEHAVIOURS_OF_ALL_LANGUAGES
from sandbox.contract.check import CheckResult, check_engine
from tasks.files.text import read_text

_AT_ONCE = 8  # boxes of people's programs; the machine's slots bound them too
_log = logging.getLogger(__name__)
_IMPORT = re.compile(r"\bfrom\s+target\b|\bimport(_module)?\b.*\btarget\b")


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
    """Check each behaviour of a language's boxes; persist the results for runs.

    Raises:
        SandboxError: The sandbox failed, so that a behaviour could not be checked.
    """
    behaviours = [each for each in BEHAVIOURS_OF_ALL_LANGUAGES if each.language == language]
    return await check_engine(settings, behaviours)


async def run_program(
    settings: SandboxSettings,
    program: Path,
    code: Path | None,
    requirements: Sequence[str],
    hash_seed: int,
    clock: float | None,
) -> ExecutionResult:
    """Run a program that may ``import target``, the code under test; return its result.

    ``clock`` is the time that the program starts at, in seconds since the epoch.

    Raises:
        SourceError: A file is no text.
        SandboxError: The sandbox failed, or the requirements cannot be installed.
    """
    text, target = read_text(program), read_text(code) if code else ""
    if code and not _IMPORT.search(text):
        _log.warning("%s does not run %s: begin it with `from target import …`", program, code)
    async with _opened(settings) as sandbox, sandbox.box(target) as box:
        installed = await box.install(requirements)
        if not installed.ok:
            raise SandboxError(
                f"{', '.join(requirements)} cannot be installed: {installed.message} "
                "Name distributions that have wheels for the image's Python."
            )
        return await box.run(text, hash_seed=hash_seed, clock=CLOCK if clock is None else clock)


async def run_programs(
    settings: SandboxSettings, programs: Sequence[tuple[str, str]]
) -> list[ExecutionResult]:
    """Run test programs of people, each in a box of its own around its code; return their results.

    Args:
        settings: The sandbox's settings.
        programs: Each with the code under test, which it may import as ``target``.

    Raises:
        SandboxError: The sandbox, not a program, failed.
    """
    places = asyncio.Semaphore(_AT_ONCE)
    async with _opened(settings) as sandbox:

        async def run(program: str, code: str) -> ExecutionResult:
            async with places, sandbox.box(code) as box:
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
