"""A sandbox on the real engine, for tests that run programs, and whether there is one."""

import contextlib
import functools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from infra.errors import SandboxError
from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import Sandbox


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


@asynccontextmanager
async def real_sandbox(limits: SandboxSettings) -> AsyncIterator[Sandbox]:
    """Give a sandbox, for tests marked ``docker``: without an engine these are skipped."""
    made = make_sandbox(limits)
    try:
        await made.check()
        yield made
    finally:
        await made.close()
