"""The law of whole runs: a program that decided for one code is run on the others, and told."""

from pathlib import Path

import pytest

from tasks.benchmarks import read_benchmark, read_manifest
from tests.fakes.llm_server import ScriptedServer
from tests.flows.test_behaviours import QUERY, SPECIFICATION, code
from tests.flows.world import Case, World, environment, rule, written

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.usefixtures("engine")]

PROGRAM = """
from target import total

def test_sums():
    assert total([1, 2]) == 3
    assert total([5, 0, 7]) == 12
    assert total([]) == 0

def test_negative():
    assert total([4, -1]) == 3
"""
CASES = [
    Case(QUERY, code("total", "item"), ()),
    Case("", code("added", "item").replace("items", "values"), ()),
    Case("", code("total_of_sizes", "abs(item)"), ()),
    Case("", "def total(first, second):\n    return first + second", ()),
]


def screened(name: str, verdict: str) -> dict[str, object]:
    reply = {"reason": "as scripted", "verdict": verdict, "adapter": "", "call": ""}
    return rule("screener", {"reply": reply}) | {"code": f"def {name}"}


SCRIPT = [
    rule("specifier", {"reply": SPECIFICATION | {"examples": ""}}),
    screened("total(items", "unclear_behaviour"),
    screened("added", "clear_non_match"),
    screened("total_of_sizes", "clear_match"),
    screened("total(first", "clear_non_match"),
    written(PROGRAM),
    rule("arbiter", {"reply": {"reason": "it adds them up", "verdict": "answers"}}),
]


@pytest.mark.nightly
def test_a_program_of_one_candidate_shows_what_contradicts_the_labels_of_others(
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
        done = world.run("benchmark", "--top-k", "4")
        assert done.returncode == 0, done.stdout[-5000:]
        asked = model.count("writer")
    assert asked == 1, "what travels asks no model"
    exported = world.output / "jsonl-agents"
    counts = read_manifest(exported).counts
    assert (counts["changed_by_behaviour"], counts["contradictions"]) == (0, 2)
    benchmark = read_benchmark(exported)
    texts = {str(item.code_id): item.text for item in benchmark.codes}
    found = {
        texts[item.code_id].partition(":")[0]: (item.label, item.agreed, *item.outcomes)
        for item in benchmark.behaviours
    }
    assert found["def total(items)"] == (1, 1, "passes")
    assert found["def added(values)"] == (0, 0, "passes")
    assert found["def total_of_sizes(items)"][:2] == (1, 1)
    assert str(found["def total_of_sizes(items)"][2]).startswith("fails: AssertionError")
    assert str(found["def total(first, second)"][2]).startswith("not run: total does not take")
    told = {item.reason for item in benchmark.behaviours if item.reason}
    assert len(told) == 2
    assert all("keeps its label" in reason for reason in told)
