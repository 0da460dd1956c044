"""The law of whole runs: what showed the mistake of one candidate counts for all, and is told."""

from pathlib import Path

import pytest

from tasks.benchmarks import read_benchmark, read_manifest
from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import Case, World, environment, rule

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.usefixtures("engine")]

QUERY = "python add up the numbers of a list"
SPECIFICATION = {
    "reading": "the sum of the items",
    "other_readings": "",
    "demands": "any numbers",
    "left_open": "",
    "examples": "[1, 2] => 3\n[5] => 5\n[] => 0",
    "clarity": "clear",
}


def code(name: str, term: str) -> str:
    return (
        f"def {name}(items):\n    n = 0\n    for item in items:\n        n += {term}\n    return n"
    )


def screened(name: str, verdict: str, call: str = "") -> dict[str, object]:
    adapter = f"from target import {name}\ndef answer(items):\n    return {name}(items)"
    reply = {"reason": "as scripted", "verdict": verdict, "adapter": adapter, "call": call}
    return rule("screener", {"reply": reply}) | {"code": f"def {name}"}


CASES = [
    Case(QUERY, code("total", "item"), ()),
    Case("", code("total_of_sizes", "abs(item)"), ()),
    Case("", code("total_of_gains", "max(item, 0)"), ()),
]
SCRIPT = [
    rule("specifier", {"reply": SPECIFICATION}),
    screened("total", "clear_match") | {"code": "def total("},
    screened("total_of_sizes", "clear_match"),
    screened("total_of_gains", "unclear_behaviour", "[4, -1] => 3"),
    rule("value_reader", {"reply": {"reason": "4 - 1", "value": "3"}}),
]


@pytest.mark.nightly
def test_a_call_that_shows_the_mistake_of_one_candidate_changes_the_label_of_another(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer(SCRIPT) as model:
        settings = {
            "PREFECT_API_URL": prefect_server,
            "COSQA_ANNOTATION__CONFIGURATION": "spec",
            "COSQA_EVALUATION__METHODS": '["bm25"]',
        }
        world = World(folder, environment(model.base_url, **settings))
        world.write(CASES, labels=False)
        queries = world.source / "queries.jsonl"
        queries.write_text(queries.read_text("utf-8").splitlines()[0] + "\n", "utf-8")
        first = world.run("benchmark", "--top-k", "3")
        assert first.returncode == 0, first.stdout[-5000:]
    own = world.rows("SELECT label, count(*) FROM annotations GROUP BY label ORDER BY label")
    assert own == [(0, 1), (1, 2)]
    exported = world.output / "jsonl-agents"
    counts = read_manifest(exported).counts
    assert (counts["changed_by_behaviour"], counts["contradictions"]) == (1, 0)
    benchmark = read_benchmark(exported)
    assert sorted(label.relevance for label in benchmark.labels) == [0, 0, 1]
    [changed] = [item for item in benchmark.behaviours if item.label != item.agreed]
    assert sorted(changed.outcomes) == ["gave 5", "held", "held", "held"]
    assert "it gives 5 for [4, -1], where 3 is demanded" in changed.reason
    qrels = (exported / "beir" / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]
    assert sorted(line.split("\t")[2] for line in qrels) == ["0", "0", "1"]
