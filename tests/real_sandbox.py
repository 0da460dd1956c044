"""A sandbox on the real engine, for tests that run programs, and whether there is one."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from infra.errors import SandboxError
from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import Sandbox
from sandbox.contract.check import require_behaviours


@functools.cache
def engine_problem() -> str:
    """Return what keeps boxes from being made here, "" for nothing."""
    from sandbox.backends.docker.engine import Engine  # noqa: PLC0415 - for marked tests alone

    try:
        with contextlib.closing(Engine(SandboxSettings())) as engine:
            engine.describe()
    except SandboxError as error:
        return str(error)
    return ""


@functools.cache
def ask_engine_once() -> None:
    """Have the engine asked for all behaviours, so that no command under test waits for it.

    That is half a minute for the first test of all processes on a machine, and nothing later.
    """

    async def ask() -> None:
        settings = SandboxSettings()
        async with real_sandbox(settings) as sandbox:
            await require_behaviours(sandbox, settings)

    asyncio.run(ask())


@asynccontextmanager
async def real_sandbox(limits: SandboxSettings) -> AsyncIterator[Sandbox]:
    """Give a sandbox, for tests marked ``docker``: without an engine these are skipped."""
    made = make_sandbox(limits)
    try:
        await made.check()
        yield made
    finally:
        await made.close()
