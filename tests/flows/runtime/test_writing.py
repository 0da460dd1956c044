"""Laws of the lease of flows: who is refused while another run writes, and who waits for it."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from prefect import flow

from flows.runtime.runs import writing
from infra.errors import StoreBusyError
from infra.settings import StoreSettings
from infra.store.database_file import writer_lock

pytestmark = pytest.mark.usefixtures("prefect_server")


class Hours:
    """A clock whose sleeps take no time; another run of a day writes until ``other`` is closed."""

    def __init__(self, store: StoreSettings) -> None:
        self.now = 0.0
        self.store = store
        self.other = ExitStack()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now > 24 * 3600:
            self.other.close()

    def another_begins(self) -> None:
        self.other.enter_context(writer_lock(self.store, "another run"))


@pytest.fixture
def hours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hours]:
    hours = Hours(StoreSettings(folder=tmp_path))
    monkeypatch.setattr("infra.store.database_file.time", hours)
    with hours.other:
        yield hours


@pytest.fixture(params=["command", "deployment"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    if request.param == "deployment":
        monkeypatch.setattr("flows.runtime.runs.deployment.get_id", lambda: "its id")
    return request.param


@pytest.mark.usefixtures("kind")
def test_a_run_that_has_written_waits_for_another_that_came_between_its_stages(
    hours: Hours,
) -> None:
    @flow
    def of_two_stages() -> str:
        with writing(hours.store):
            pass
        hours.another_begins()
        with writing(hours.store):
            return "written"

    assert of_two_stages() == "written"
    assert hours.now > 24 * 3600


@pytest.mark.usefixtures("kind")
def test_a_run_that_has_not_written_yet_is_refused_while_another_writes(hours: Hours) -> None:
    @flow
    def of_one_stage() -> None:
        with writing(hours.store):
            pass

    of_one_stage()
    hours.another_begins()
    with pytest.raises(StoreBusyError, match="another run"):
        of_one_stage()
    assert hours.now < 3600
