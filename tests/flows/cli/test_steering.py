"""Laws of what is said when controls are changed: who obeys them, and when."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.main import app
from infra.settings import StoreSettings
from infra.settings.operation import MOST_IN_FLIGHT, MOST_REQUESTS_PER_MINUTE
from infra.store import open_database
from infra.store.runs import JudgingState, StageState, write_state, writer_lease

JUDGING = JudgingState(collection="c", model="openai/m", held=2, in_flight=8)
BY_BATCH = JudgingState(collection="c", model="openai/m")


@pytest.fixture
def store(tmp_path: Path) -> StoreSettings:
    store = StoreSettings(folder=tmp_path)
    open_database(store)
    return store


def steered(store: StoreSettings, *words: str) -> str:
    done = CliRunner().invoke(app, [*words, "--store", str(store.folder)])
    assert done.exit_code == 0, done.output
    return done.output


def state(judging: JudgingState | None, updated_at: datetime, *, is_ended: bool) -> StageState:
    return StageState(
        stage="s", what="items", done=1, total=9, started_at=updated_at, updated_at=updated_at,
        judging=judging, is_ended=is_ended,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("judging", "told"),
    [(JUDGING, "obeys within seconds"), (BY_BATCH, "obeys with its next batches")],
)
def test_annotation_that_judges_obeys(
    store: StoreSettings, judging: JudgingState, told: str
) -> None:
    with writer_lease(store, "annotate 9 pairs"):
        write_state(store, state(judging, datetime.now(UTC), is_ended=False))
        said = steered(store, "pause")
    assert "In force: paused (annotate 9 pairs (process " in said
    assert told in said


@pytest.mark.parametrize(
    ("judging", "age", "is_ended"),
    [
        pytest.param(None, 0, False, id="another stage"),
        pytest.param(JUDGING, 0, True, id="has judged"),
        pytest.param(JUDGING, 600, False, id="a run before it was killed while it judged"),
    ],
)
@pytest.mark.parametrize(
    "words", [["pause"], ["resume"], ["limit", "--in-flight", "4"], ["limit", "--clear"]]
)
def test_of_a_run_that_does_not_judge_nobody_hears_that_it_obeys(
    store: StoreSettings,
    judging: JudgingState | None,
    age: int,
    is_ended: bool,
    words: list[str],
) -> None:
    updated_at = datetime.now(UTC) - timedelta(seconds=age)
    with writer_lease(store, "generate"):
        write_state(store, state(judging, updated_at, is_ended=is_ended))
        said = steered(store, *words)
    assert "generate (process " in said
    assert "judges no pairs now: annotation obeys while it judges, other runs do not" in said


def test_a_command_that_shows_no_stage_is_not_said_to_obey(store: StoreSettings) -> None:
    with writer_lease(store, "cosqa store prune"):
        assert "cosqa store prune (process " in (said := steered(store, "pause"))
    assert "judges no pairs now" in said


def test_without_a_run_controls_are_for_the_next_one(store: StoreSettings) -> None:
    assert "In force: paused (for the next run: none writes labels)" in steered(store, "pause")
    assert "No control is set." in steered(store, "resume")


@pytest.mark.parametrize(
    ("option", "most"),
    [("--in-flight", MOST_IN_FLIGHT), ("--requests-per-minute", MOST_REQUESTS_PER_MINUTE)],
)
def test_a_limit_that_no_run_could_read_is_refused_and_the_store_goes_on(
    store: StoreSettings, option: str, most: int
) -> None:
    done = CliRunner().invoke(app, ["limit", option, str(2**63), "--store", str(store.folder)])
    assert done.exit_code == 2, done.output
    said = " ".join(done.output.replace("│", " ").split())
    assert f"less than or equal to {most}" in said
    assert "No control is set." in steered(store, "limit")
