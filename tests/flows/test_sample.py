"""The law of the default run: the packaged sample, judged by recorded replies and by runs here."""

import csv
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tasks.retrievers import retrievers
from tests.flows.world import World, bare_world

pytestmark = [pytest.mark.docker, pytest.mark.slow(400), pytest.mark.usefixtures("engine")]

# Query, code, label and path of each pair, as judged when the replies were recorded.
RECORDED = Path(__file__).with_name("sample_labels.tsv")
# What the pages say of the run, which `tests.test_statements` compares with them.
NUMBERS = Path(__file__).with_name("sample_numbers.toml")
_SCORES = """
    SELECT method, metric, round(avg(value), 4), count(*) FROM scores
    JOIN evaluations USING (benchmark_id, method_key) JOIN benchmarks USING (benchmark_id)
    WHERE name = 'stdlib-sample-agents' AND metric IN ('MAP', 'MRR', 'NDCG@10', 'Recall@10')
    GROUP BY ALL ORDER BY ALL
"""


@pytest.mark.nightly
def test_the_default_run_gives_the_recorded_labels_as_a_multi_choice_benchmark_with_evidence(
    folder: Path,
) -> None:
    world = bare_world(folder)
    command = world.command_on_folder("benchmark")

    done = world.finish_alone(command)
    assert done.returncode == 0, done.stdout
    with RECORDED.open(encoding="utf-8", newline="") as file:
        recorded = [tuple(row) for row in csv.reader(file, delimiter="\t")]
    assert len(recorded) == 200
    assert recorded == world.rows(
        "SELECT query_id, code_id, label::VARCHAR, path FROM annotations ORDER BY ALL"
    )

    exported = world.output / "stdlib-sample-agents"
    labels = pq.read_table(exported / "labels.parquet").to_pylist()
    matches = Counter(item["query_id"] for item in labels if item["relevance"] > 0)
    assert sum(number > 1 for number in matches.values()) >= 10
    evidence = pq.read_table(exported / "evidence.parquet").to_pylist()
    assert numbers(world, matches, evidence) == tomllib.loads(NUMBERS.read_text("utf-8"))
    assert len(evidence) == len(labels) == 200
    assert all(item["executions"] or item["support"] == "screened" for item in evidence)
    assert "AI assistants" in (exported / "README.md").read_text("utf-8")
    scored = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    assert {*retrievers, "minilm"} <= scored

    again = world.finish_alone(command)
    assert again.returncode == 0, again.stdout
    assert "Nothing was left to do" in again.stdout


def numbers(world: World, matches: Counter[str], evidence: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the run's numbers, as they are recorded."""
    counts: list[Any] = world.rows(
        "SELECT (SELECT count(*) FROM collection_queries), (SELECT count(*) FROM collection_codes)"
    )
    ((queries, functions),) = counts
    rows: list[Any] = world.rows(_SCORES)
    (scored_queries,) = {count for *_, count in rows}
    scores: dict[str, dict[str, float]] = {}
    for method, metric, mean, _ in rows:
        scores.setdefault(method, {})[metric] = mean
    by_matches = Counter(matches.values())
    return {
        "queries": queries,
        "functions": functions,
        "pairs": len(evidence),
        "matches": matches.total(),
        "queries_by_matches": [
            queries - len(matches),
            *(by_matches[n] for n in sorted(by_matches)),
        ],
        "scored_queries": scored_queries,
        "support": dict(Counter(item["support"] for item in evidence)),
        "scores": scores,
    }
