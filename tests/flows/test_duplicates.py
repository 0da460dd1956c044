"""The law of whole runs: of codes that are the same but for their spelling one is judged."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tasks.benchmarks import read_benchmark
from tests.fakes.llm_server import ScriptedServer
from tests.flows.test_behaviours import QUERY, SPECIFICATION, code, screened
from tests.flows.world import Case, World, environment, rule

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.usefixtures("engine")]

TOTAL = code("total", "item")
DOCUMENTED = TOTAL.replace("\n", '\n    """Return the sum of numbers."""\n', 1)
OF_SIZES = code("total_of_sizes", "abs(item)")
RENAMED = TOTAL.replace("n = 0", "found = 0").replace("n +=", "found +=")
RENAMED = RENAMED.replace("return n", "return found  # the sum")
SCRIPT = [
    rule("specifier", {"reply": SPECIFICATION}),
    screened("total", "clear_match") | {"code": "def total("},
    screened("total_of_sizes", "clear_non_match", "[4, -1] => 3"),
    rule("value_reader", {"reply": {"reason": "4 - 1", "value": "3"}}),
]


def write(world: World, codes: list[str]) -> None:
    world.write([Case(QUERY, text, ()) for text in codes], labels=False)
    queries = world.source / "queries.jsonl"
    queries.write_text(queries.read_text("utf-8").splitlines()[0] + "\n", "utf-8")


@pytest.mark.nightly
def test_duplicates_are_judged_once_and_say_by_whose_evidence(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer(SCRIPT) as model:
        settings = {
            "PREFECT_API_URL": prefect_server,
            "COSQA_ANNOTATION__CONFIGURATION": "spec",
            "COSQA_ANNOTATION__CANARIES": "0",
            "COSQA_EVALUATION__METHODS": '["bm25"]',
        }
        world = World(folder, environment(model.base_url, **settings))
        write(world, [TOTAL, DOCUMENTED, OF_SIZES])
        done = world.run("benchmark", "--top-k", "4")
        assert done.returncode == 0, done.stdout[-5000:]
        assert (model.count("specifier"), model.count("screener")) == (1, 2)
        assert sorted(world.rows("SELECT path, label, decided_by FROM annotations")) == [
            ("claims_fail", 0, "claims"),
            ("claims_hold", 1, "claims"),
            ("duplicate", 1, "duplicate"),
        ]
        write(world, [TOTAL, DOCUMENTED, OF_SIZES, RENAMED])
        done = world.run("benchmark", "--top-k", "4")
        assert done.returncode == 0, done.stdout[-5000:]
        assert (model.count("specifier"), model.count("screener")) == (1, 2)
    [(first,)] = world.rows("SELECT code_id FROM annotations WHERE path = 'claims_hold'")
    duplicates = world.rows(
        "SELECT query_id, code_id, label, starts_with(reason, ?) FROM annotations "
        "WHERE path = 'duplicate'".replace("?", f"'{first} '")
    )
    assert [row[2:] for row in duplicates] == [(1, True)] * 2
    exported = world.output / "jsonl-agents"
    evidence = pq.read_table(exported / "evidence.parquet").to_pylist()
    decided = [row for row in evidence if row["decided_by"] == "duplicate"]
    assert len(decided) == 2
    assert all(
        row["executions"] and all(call["cached"] for call in row["calls"]) for row in decided
    )
    benchmark = read_benchmark(exported)
    assert sorted(item.relevance for item in benchmark.labels) == [0, 1, 1, 1]
    assert len({item.behaviour for item in benchmark.behaviours if item.agreed == 1}) == 1
    query, copy = map(str, duplicates[0][:2])
    shown = world.finish(
        [*world.command_on_folder("pair")[:2], "--store", str(world.store), query, copy]
    )
    assert f"{first} is the same function but for its spelling" in shown.stdout
    replayed = world.run("annotate", "--replay")
    assert replayed.returncode == 0, replayed.stdout[-5000:]
