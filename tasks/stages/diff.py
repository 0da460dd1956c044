"""Comparison of two versions of a benchmark: its changes, and those of methods' scores."""

from collections.abc import Sequence
from pathlib import Path

from prefect.artifacts import create_markdown_artifact

from infra.files import write_outputs
from infra.records import Record
from infra.settings import EvaluationSettings, PublishSettings
from tasks.benchmarks import qrels_of
from tasks.reports.diff import (
    Difference,
    ScoreChange,
    difference,
    difference_document,
    score_changes,
)
from tasks.reports.leaderboard import Leaderboard, Values
from tasks.reports.render import markdown_page
from tasks.runtime.caching import stage
from tasks.runtime.progress import artifact_key
from tasks.stages.leaderboard import compared_methods, read_rankings
from tasks.stages.scoring import OpenBenchmark, Run

_DIFFERENCE_FILE = "difference.json"


class WrittenDifference(Record):
    """A written comparison: its folder, and the changes of the methods' scores."""

    folder: Path
    score_changes: tuple[ScoreChange, ...]

    @property
    def change(self) -> Difference:
        """The changes of queries, codes and labels, read from the folder."""
        return Difference.model_validate_json((self.folder / _DIFFERENCE_FILE).read_bytes())


@stage("compare-versions", "compare {before.name} with {after.name}")
def compare_versions(
    before: OpenBenchmark,
    after: OpenBenchmark,
    old: Sequence[Run],
    new: Sequence[Run],
    evaluation: EvaluationSettings,
    publish: PublishSettings,
) -> WrittenDifference:
    """Write the changes as Markdown and as JSON, and the changed labels as JSON Lines."""
    change = difference(before.content, after.content)
    first, old_values = _leaderboard(before, old, evaluation)
    second, new_values = _leaderboard(after, new, evaluation)
    changes = score_changes(first, second, old_values, new_values)
    folder = publish.folder.resolve() / "differences"
    folder /= f"{before.name}-{before.benchmark_id}-{after.benchmark_id}"
    page = markdown_page(difference_document(change, changes))
    files = {
        "difference.md": page,
        _DIFFERENCE_FILE: change.model_dump_json(indent=2),
        "flips.jsonl": "".join(f"{flip.model_dump_json()}\n" for flip in change.flips),
    }
    write_outputs(folder, files)
    create_markdown_artifact(
        page,
        key=artifact_key("difference", after.name),
        description=f"{before.name} → {after.name}",
    )
    return WrittenDifference(folder=folder, score_changes=changes)


def _leaderboard(
    benchmark: OpenBenchmark, runs: Sequence[Run], settings: EvaluationSettings
) -> tuple[Leaderboard, Values]:
    qrels = qrels_of(benchmark.content.labels)
    rankings = read_rankings(benchmark, runs)
    board, scores = compared_methods(benchmark, rankings, qrels, settings)
    return board, {row.method: row.values for row in scores}
