"""What tests of stages share: a quiet log, a store, and an engine in whose boxes all passes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.logging import disable_run_logger

from infra.store import Database
from sandbox.backends import backends
from tests.fakes.sandbox import PASSED, FakeSandbox
from tests.fakes.stores import empty_store


@pytest.fixture
def quiet() -> Iterator[None]:
    """Let stages run outside of Prefect's runs."""
    with disable_run_logger():
        yield


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """An empty store."""
    return empty_store(tmp_path / "store")


@pytest.fixture
def backend() -> Iterator[str]:
    """A registered backend whose every program passes."""
    backends.register("fake")(lambda settings: FakeSandbox(lambda program, installed: PASSED))
    yield "fake"
    del backends._entries["fake"]
