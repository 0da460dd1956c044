"""Laws of `cosqa status`: it says what runs, how far it is, and what a crash left behind.

Covers `flows.runtime.standing`.
"""

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.cli.status import lines, show_status
from flows.options import Status
from flows.runtime import standing
from flows.runtime.standing import Standing, standing_of
from infra.errors import StoreError, StoreLockedError
from infra.ids import RecipeId
from infra.settings import Settings, StoreSettings
from infra.store import Database, open_database
from infra.store.runs import (
    JudgingState,
    StageState,
    record_plan,
    write_state,
    writer_lease,
)
from infra.summaries import CanaryCounts
from tasks.reports.plan import Amount, Expected, ReasonPlan, RunPlan

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


def said(standing: Standing) -> dict[str, str]:
    """Return the lines by their names."""
    return dict(lines(standing))


def test_a_run_at_work_is_shown_with_progress_labels_canaries_and_cost() -> None:
    now = datetime.now(UTC)  # other tests have taken their time since this file was read
    times = {"started_at": now - timedelta(minutes=10), "updated_at": now}
    stage = STATE.model_copy(update=times)
    shown = said(Standing(folder=Path("s"), holder="annotate (process 7 on h)", stage=stage))
    assert shown == {
        "store": "s",
        "runs": "annotate (process 7 on h)",
        "stage": "annotation-c: 120 of 420 pairs judged, 12 a minute, about 25 min 0 s left",
        "pairs": "8 of at most 64 in flight, 50 queued",
        "labels": "35 labelled 0, 80 labelled 1, 2 failed",
        "canaries": "1 of 6 (16.7%) judged wrongly: 1 false passes, 0 false fails",
        "cost": "$0.50 by this run, $3.10 and 40,000 tokens on openai/m in all, budget $5.00",
    }


def test_a_run_that_died_is_not_shown_as_one_that_goes_on() -> None:
    died = STATE.model_copy(update={"updated_at": NOW - timedelta(minutes=5)})
    shown = said(Standing(folder=Path("s"), stage=died))
    assert shown["runs"] == "nothing"
    assert "interrupted; last seen" in shown["stage"]
    assert "left" not in shown["stage"]
    ended = STATE.model_copy(update={"is_ended": True, "error": "the budget is spent"})
    assert "(ended " in said(Standing(folder=Path("s"), stage=ended))["stage"]
    assert said(Standing(folder=Path("s"), stage=ended))["error"] == "the budget is spent"
    assert "no sign since" in said(Standing(folder=Path("s"), holder="h", stage=died))["stage"]


def test_a_run_that_writes_no_labels_is_not_shown_as_one_that_died() -> None:
    now = datetime.now(UTC)
    times = {"started_at": now - timedelta(minutes=10), "updated_at": now}
    stage = STATE.model_copy(update=times | {"stage": "embedding", "judging": None})
    shown = said(Standing(folder=Path("s"), stage=stage))
    assert shown["runs"] == "nothing that writes labels"
    assert shown["stage"].endswith("about 25 min 0 s left")
    ended = stage.model_copy(update={"is_ended": True})
    assert said(Standing(folder=Path("s"), stage=ended))["runs"] == "nothing"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store=StoreSettings(folder=tmp_path))


@pytest.fixture
def database(settings: Settings) -> Database:
    return open_database(settings.store)


def recorded_plan(database: Database) -> str:
    some = Amount(expected=1)
    plan = RunPlan(
        collection="c", recipe_id=RecipeId("r"), model="m", configuration="gated",
        candidates=9, fresh=0, reasons=(ReasonPlan(reason="stale", pending=5, taken=3),),
        expected=Expected(tokens=some, usd=some, minutes=some), basis="b",
    )  # fmt: skip
    return record_plan(database, "c", plan.recipe_id, plan.model_dump(mode="json"))


def test_everything_is_gathered_from_the_store(settings: Settings, database: Database) -> None:
    recorded_plan(database)
    write_state(settings.store, STATE)
    with temporary_settings({PREFECT_API_URL: ""}), writer_lease(settings.store, "annotate"):
        found = standing_of(settings)
    shown = said(found)
    assert shown["runs"].startswith(f"annotate (process {os.getpid()} on ")
    assert shown["plan"].endswith("3 of 5 pending pairs of c: stale 3")
    assert "server" not in shown
    assert standing_of(settings, found).holder == "", "the lease is looked at each time"


def test_a_store_that_is_held_is_said(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(_: StoreSettings) -> Database:
        raise StoreLockedError("another process has it open")

    monkeypatch.setattr(standing, "open_database", held)
    assert "another process has the database open" in said(standing_of(settings))["plan"]


def test_into_a_pipe_it_is_printed_once(
    settings: Settings, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not sys.stdout.isatty()
    with temporary_settings({PREFECT_API_URL: ""}):
        show_status(Status(store=settings.store.folder, once=False))
    assert "runs       nothing\n" in capsys.readouterr().out


def test_a_folder_without_a_store_is_said_and_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store at"):
        show_status(Status(store=tmp_path / "none", once=True))
    assert list(tmp_path.iterdir()) == []
