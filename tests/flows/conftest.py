"""Fixtures of whole runs: one Prefect server for all, and the Docker engine."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, PREFECT_HOME, temporary_settings

from flows.runtime.prefect_server import prefect_api
from infra.settings import SandboxSettings
from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import YES, commands
from tests.prefect_api import lay_database
from tests.real_sandbox import real_sandbox


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a Prefect server with a database of its own; return the address of its API."""
    before = os.environ.get("PREFECT_HOME")
    home = tmp_path_factory.mktemp("prefect")
    lay_database(home)
    os.environ["PREFECT_HOME"] = str(home)
    # A flow's end waits up to a second for the thread of its signs of life.
    changes = {PREFECT_HOME: home, PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}
    with temporary_settings(changes), prefect_api() as url:
        yield url
        if commands.cache_info().currsize:
            commands().close()
    if before is None:
        del os.environ["PREFECT_HOME"]
    else:
        os.environ["PREFECT_HOME"] = before


@pytest.fixture(scope="session")
def engine() -> None:
    """Skip without a Docker engine, or fail if one is required."""

    async def check() -> None:
        async with real_sandbox(SandboxSettings()):
            pass

    asyncio.run(check())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder for one world."""
    return tmp_path


@pytest.fixture
def agreeing() -> Iterator[ScriptedServer]:
    """Start a model that says of every pair that it matches."""
    with ScriptedServer([YES]) as server:
        yield server
