"""A sandbox on the real engine, and one box in it."""

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from infra.errors import SandboxError
from infra.settings import SandboxSettings
from sandbox.base import Box, Sandbox
from sandbox.registry import make_sandbox

# Hostile programs are read as text; pytest must never import one, whatever its name.
collect_ignore_glob = ["attacks/programs/*", "attacks/targets/*"]

CODE = '''def double(number):
    """Return twice the number."""
    return number + number
'''
LIMITS = SandboxSettings(slots=2, ready=2, memory_mb=192, timeout_s=4.0, tmp_mb=16, output_kb=8)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def sandbox() -> AsyncIterator[Sandbox]:
    """Return one sandbox for all tests of the session's loop: its boxes wait ready."""
    made = make_sandbox(LIMITS)
    try:
        await made.check()
    except SandboxError as error:
        if os.environ.get("COSQA_REQUIRE_DOCKER") == "1":
            raise
        pytest.skip(str(error))
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="session")
async def box(sandbox: Sandbox) -> AsyncIterator[Box]:
    async with sandbox.box(CODE) as made:
        yield made
