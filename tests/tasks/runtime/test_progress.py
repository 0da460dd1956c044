"""Laws of the progress bar: it is a picture of a run, and ends none."""

import logging
from contextvars import ContextVar
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from infra.errors import StoreLockedError
from infra.settings import StoreSettings
from infra.store.stage_state import StageState, read_state
from tasks.runtime import progress


def test_a_prefect_server_that_takes_no_progress_ends_no_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[float] = []

    def gone(_artifact: object, progress: float, description: str) -> None:
        tries.append(progress)
        raise ConnectionError("no server")

    monkeypatch.setattr(progress, "create_progress_artifact", lambda **_: uuid4())
    monkeypatch.setattr(progress, "update_progress_artifact", gone)
    monkeypatch.setattr(progress, "get_run_logger", lambda: logging.getLogger("run"))
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_REPORTS", 0.0)
    with progress.progress("key", "pairs judged", 4) as bar:
        bar.advance(1)
        bar.advance(1)  # no second try at once: the client waits long for a server
    assert tries == [25.0, 50.0], "at the first failure, and at the end"
    assert "no server" in caplog.text
    with (
        pytest.raises(StoreLockedError, match="held"),
        progress.progress("key", "pairs judged", 4),
    ):
        raise StoreLockedError("held")


def test_a_bar_that_the_server_does_not_take_is_made_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[float] = []

    def create(progress: float, **_: str) -> UUID:
        made.append(progress)
        if len(made) == 1:
            raise ConnectionError("no server")
        return uuid4()

    monkeypatch.setattr(progress, "create_progress_artifact", create)
    monkeypatch.setattr(progress, "get_run_logger", lambda: logging.getLogger("run"))
    bar = progress.Bar("key", "pairs judged")
    bar.show(1, 4, "pairs judged")  # no second try at once
    bar.show(4, 4, "pairs judged", at_end=True)
    assert made == [0.0, 100.0]
    assert "no server" in caplog.text


def test_the_state_of_a_stage_stands_beside_the_store_while_it_works_and_at_its_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(progress, "get_run_logger", lambda: logging.getLogger("run"))
    store = StoreSettings(folder=tmp_path)
    monkeypatch.setattr(progress, "_store", ContextVar("here", default=store))
    with progress.open_ended_progress("items read") as bar:
        assert not stored(store).is_ended
        monkeypatch.setattr(progress, "_SECONDS_BETWEEN_STATES", 0.0)
        bar.advance(3)
        assert (stored(store).done, stored(store).what) == (3, "items read")
    assert stored(store).is_ended
    assert not stored(store).error
    with pytest.raises(StoreLockedError), progress.open_ended_progress("items read"):
        raise StoreLockedError("held by another")
    assert stored(store).error == "held by another"


def stored(store: StoreSettings) -> StageState:
    state = read_state(store)
    assert state
    return state
