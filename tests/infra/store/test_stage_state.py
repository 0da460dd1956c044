"""Laws of the state file: what was written is read, and what cannot be read is no state."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infra.settings import StoreSettings
from infra.store.runs import JudgingState, StageState, read_state, write_state, writer_lease

START = datetime(2026, 1, 1, tzinfo=UTC)
STATE = StageState(
    stage="annotation",
    what="pairs judged",
    done=30,
    total=90,
    started_at=START,
    updated_at=START + timedelta(minutes=2),
    judging=JudgingState(collection="c", model="m", labels={1: 3}, budget_usd=2.5),
)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    store = StoreSettings(folder=tmp_path)
    assert read_state(store) is None
    write_state(store, STATE)
    assert read_state(store) == STATE
    assert [path.name for path in tmp_path.iterdir()] == ["stage.json"]


@pytest.mark.parametrize("content", ["", "{", '{"stage": 3}', '{"of": "a later release"}'])
def test_what_cannot_be_read_is_no_state(tmp_path: Path, content: str) -> None:
    (tmp_path / "stage.json").write_text(content)
    assert read_state(StoreSettings(folder=tmp_path)) is None


def test_a_folder_that_takes_no_state_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    write_state(StoreSettings(folder=tmp_path / "file"), STATE)


def test_the_state_is_that_of_the_process_that_holds_the_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = StoreSettings(folder=tmp_path)
    other = STATE.model_copy(update={"stage": "evaluation"})
    with writer_lease(store, "annotate"):
        write_state(store, STATE)
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr("infra.store.runs.os.getpid", lambda: 0)
            write_state(store, other)
        assert read_state(store) == STATE
    write_state(store, other)
    assert read_state(store) == other, "nobody holds it any more"
