"""Laws of a run's gathering: where workers must be, and what ends it or does not.

Covers `tasks.stages.preflight`, `flows.annotate` and `tasks.runtime.progress` where they serve it.
"""

from pathlib import Path
from typing import Any, cast

import pytest

from infra.errors import SettingsError
from infra.settings import Settings, StoreSettings
from tasks.stages.annotate.gather import _mark_in
from tasks.stages.annotate.judge import _is_retryable, judge
from tasks.stages.preflight import check_comparison
from tests.tasks.stages.annotate.test_judge import RECIPE


def test_workers_get_the_store_s_folder_as_an_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings(store=StoreSettings(folder=Path("here")))
    ready = check_comparison(settings, [])
    assert ready.settings.store.folder == tmp_path / "here"
    assert ready.database.settings.folder == tmp_path / "here"


def test_a_judge_that_does_not_see_the_store_s_folder_says_where_it_is_and_what_to_do(
    tmp_path: Path,
) -> None:
    (tmp_path / "elsewhere").mkdir()
    queue = cast("Any", None)  # no pair is asked for
    with _mark_in(StoreSettings(folder=tmp_path)) as mark:
        assert mark.parent == tmp_path
        of_others = tmp_path / "elsewhere" / mark.name  # the same path on a disk of its own
        with pytest.raises(SettingsError, match=r"does not see the store.*elsewhere.*one path"):
            judge.fn(0, Settings(), RECIPE, queue, None, of_others)
        with pytest.raises(AttributeError, match="as_judge"):
            judge.fn(0, Settings(), RECIPE, queue, None, mark)
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]


def test_what_every_judge_would_meet_is_not_tried_again() -> None:
    def failed(error: Exception) -> Any:
        data = type("Data", (), {"exception": error})
        return type("State", (), {"data": data})

    assert not _is_retryable(failed(SettingsError("no store")))
    assert _is_retryable(failed(OSError("gone")))
