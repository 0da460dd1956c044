"""A sandbox on the real engine, and one box in it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from infra.settings import SandboxSettings
from sandbox.backends.docker.backend import DockerSandbox
from sandbox.base import Box, Sandbox
from tests.fakes.package_index import Site, asked_of, running
from tests.real_sandbox import real_sandbox

# Hostile programs are read as text; pytest must never import one, whatever its name.
collect_ignore_glob = ["attacks/programs/*", "attacks/targets/*", "attacks/second_runs/*"]

CODE = '''def double(number):
    """Return twice the number."""
    return number + number
'''
# Runners share the slots: two boxes at once for each of three, or they would wait for each other.
LIMITS = SandboxSettings(slots=6, ready=2, memory_mb=192, timeout_s=10.0, tmp_mb=16, output_kb=8)


@pytest.fixture(scope="session")
async def sandbox() -> AsyncIterator[Sandbox]:
    """Return one sandbox for all tests of the session's loop: its boxes wait ready."""
    async with real_sandbox(LIMITS) as made:
        yield made


@pytest.fixture
async def box(sandbox: Sandbox) -> AsyncIterator[Box]:
    async with sandbox.box(CODE) as made:
        yield made


@pytest.fixture
async def own(sandbox: Sandbox, request: pytest.FixtureRequest) -> AsyncIterator[DockerSandbox]:
    """Return a sandbox of the test's own, to be closed in mid-test; needs an engine, as the other.

    The module says by ``OWN`` which limits are others.
    """
    limits = LIMITS.model_dump() | getattr(request.module, "OWN", {})
    made = DockerSandbox(SandboxSettings.model_validate(limits))
    yield made
    await made.close()


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Site]:
    """Return the index that this machine's pip is set up for."""
    with running(Site()) as site:
        asked_of(site, monkeypatch, tmp_path)
        yield site
