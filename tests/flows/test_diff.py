"""Two recipes over the same 200 pairs, compared from end to end.

Covers `tasks.stages.diff`.
"""

import json
from pathlib import Path

import pytest

from flows.leaderboard import diff as compare_folders
from infra.settings import EvaluationSettings, PublishSettings, Settings, StoreSettings
from tasks.benchmarks import write_benchmark
from tasks.inputs.formats.export import read_benchmark
from tasks.reports.diff import difference
from tests.tasks.reports.cases import AFTER, BEFORE


@pytest.mark.usefixtures("prefect_server")
def test_no_method_is_scored_that_nobody_names(tmp_path: Path) -> None:
    for name, benchmark in (("before", BEFORE), ("after", AFTER)):
        write_benchmark(benchmark, tmp_path / name, include_undecided=True)
    settings = Settings(
        store=StoreSettings(folder=tmp_path / "store"),
        publish=PublishSettings(folder=tmp_path / "out"),
    )
    written = compare_folders(tmp_path / "before", tmp_path / "after", settings)
    assert written.change.flips
    assert not written.score_changes
    assert not list(tmp_path.rglob("*.trec*"))


@pytest.mark.usefixtures("prefect_server")
def test_two_exports_are_compared_with_their_effect_on_the_methods(tmp_path: Path) -> None:
    for name, benchmark in (("before", BEFORE), ("after", AFTER)):
        write_benchmark(benchmark, tmp_path / name, include_undecided=True)
    settings = Settings(
        store=StoreSettings(folder=tmp_path / "store"),
        publish=PublishSettings(folder=tmp_path / "out"),
        evaluation=EvaluationSettings(methods=("bm25", "bag-of-words"), metrics=("MAP", "MRR")),
    )
    written = compare_folders(tmp_path / "before", tmp_path / "after", settings)
    read = [read_benchmark(tmp_path / name) for name in ("before", "after")]
    assert written.change == difference(*read)
    assert {(row.method, row.metric) for row in written.score_changes} == {
        (method, metric) for method in ("bm25", "bag-of-words") for metric in ("MAP", "MRR")
    }
    for row in written.score_changes:
        assert row.shared == pytest.approx(row.after - row.before), "all queries are shared"
        assert row.shared != 0 or row.p_value == 1.0
    flips = (written.folder / "flips.jsonl").read_text().splitlines()
    assert [json.loads(line)["code_id"] for line in flips] == [
        flip.code_id for flip in written.change.flips
    ]
    assert "Effect on the methods" in (written.folder / "difference.md").read_text()
