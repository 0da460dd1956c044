"""Laws of `cosqa status`: it says what is stored, what runs, and what a crash has left."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flows.cli import status
from flows.cli.status import show_status
from flows.options import Store
from infra.errors import StoreError, StoreLockedError
from infra.settings import StoreSettings
from infra.store import Database, open_database
from infra.store.runs import JudgingState, StageState, write_state, writer_lease
from infra.summaries import CanaryCounts

NOW = datetime.now(UTC)
JUDGING = JudgingState(
    collection="c", model="openai/m", waiting=50, held=8, in_flight=64,
    statuses={"labelled": 115, "failed": 2}, labels={1: 80, 0: 35},
    canaries=CanaryCounts(judged=6, wrong_codes=4, false_passes=1),
    spent_usd=3.1, spent_before_usd=2.6, spent_tokens=40_000, budget_usd=5.0,
)  # fmt: skip
STATE = StageState(
    stage="annotation-c", what="pairs judged", done=120, total=420,
    started_at=NOW - timedelta(minutes=10), updated_at=NOW, judging=JUDGING,
    per_minute=12.0, minutes_left=25.0,
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> StoreSettings:
    return StoreSettings(folder=tmp_path)


@pytest.fixture
def database(store: StoreSettings) -> Database:
    return open_database(store)


def shown(store: StoreSettings, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines that are printed, without the store's."""
    show_status(Store(store=store.folder))
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == f"store      {store.folder}"
    return lines


def stage_of(lines: list[str]) -> str:
    return next(line for line in lines if line.startswith("stage"))


@pytest.mark.usefixtures("database")
def test_a_run_at_work_is_shown_with_progress_labels_canaries_and_cost(
    store: StoreSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    with writer_lease(store, "annotate"):
        write_state(store, STATE.model_copy(update={"updated_at": datetime.now(UTC)}))
        stored, writes, *lines = shown(store, capsys)
    assert stored == (
        "stored     0 queries, 0 codes, 0 candidates, 0 labelled pairs, 0 exported benchmarks"
    )
    assert writes.startswith(f"writes     annotate (process {os.getpid()} on ")
    assert lines == [
        "stage      annotation-c: 120 of 420 pairs judged, 12 a minute, about 25 min 0 s left",
        "pairs      8 of at most 64 in flight, 50 queued",
        "labels     35 labelled 0, 80 labelled 1, 2 failed",
        "canaries   1 of 6 (16.7%) judged wrongly: 1 false passes, 0 false fails",
        "cost       $0.50 by this run, $3.10 and 40,000 tokens on openai/m in all, budget $5.00",
    ]


@pytest.mark.usefixtures("database")
def test_a_run_that_died_is_not_shown_as_one_that_goes_on(
    store: StoreSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    died = STATE.model_copy(update={"updated_at": NOW - timedelta(minutes=5)})
    write_state(store, died)
    lines = shown(store, capsys)
    assert lines[1] == "writes     nothing"
    assert "no sign since" in stage_of(lines)
    assert "left" not in stage_of(lines)
    write_state(store, died.model_copy(update={"is_ended": True, "error": "the budget is spent"}))
    lines = shown(store, capsys)
    assert "(ended " in stage_of(lines)
    assert "error      the budget is spent" in lines


@pytest.mark.usefixtures("database")
def test_a_store_that_is_held_is_said(
    store: StoreSettings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def held(_: StoreSettings) -> Database:
        raise StoreLockedError("another process has it open")

    monkeypatch.setattr(status, "open_database", held)
    assert "another process has the database open" in shown(store, capsys)[0]


def test_a_folder_without_a_store_is_said_and_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store at"):
        show_status(Store(store=tmp_path / "none"))
    assert list(tmp_path.iterdir()) == []
