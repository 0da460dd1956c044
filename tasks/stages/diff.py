"""Two versions of a benchmark are compared, and what that does to methods."""

from pathlib import Path

from prefect import task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from infra.records import Record
from tasks.reports.diff import (
    Difference,
    ScoreChanges,
    difference,
    difference_markdown,
    score_changes,
)
from tasks.reports.leaderboard import Leaderboard, MethodScores
from tasks.stages.leaderboard import Contest, opened

Standings = tuple[Leaderboard, list[MethodScores]]


class WrittenDifference(Record):
    """What changed, what it does, and where it was written."""

    folder: Path
    change: Difference
    effect: ScoreChanges


@task(name="compare-versions", cache_policy=NO_CACHE)
def compare_versions(
    before: Contest, after: Contest, old: Standings, new: Standings
) -> WrittenDifference:
    """Write what changed as Markdown, as JSON, and the turned labels line by line.

    Args:
        before: The first version.
        after: The second version.
        old: The methods' standings in the first.
        new: And in the second.
    """
    change = difference(opened(before), opened(after))
    result = score_changes(old[0], new[0], _values(old), _values(new))
    folder = before.output.parent.parent / "differences"
    folder /= f"{before.name}-{before.benchmark_id}-{after.benchmark_id}"
    folder.mkdir(parents=True, exist_ok=True)
    page = difference_markdown(change, result)
    (folder / "difference.md").write_text(page, encoding="utf-8")
    (folder / "difference.json").write_text(change.model_dump_json(indent=2), encoding="utf-8")
    flips = "".join(f"{flip.model_dump_json()}\n" for flip in change.flips)
    (folder / "flips.jsonl").write_text(flips, encoding="utf-8")
    create_markdown_artifact(page, key="difference", description=f"{before.name} → {after.name}")
    return WrittenDifference(folder=folder, change=change, effect=result)


def _values(standings: Standings) -> dict[str, dict[str, dict[str, float]]]:
    return {
        each.method: {metric: dict(values) for metric, values in each.values.items()}
        for each in standings[1]
    }
