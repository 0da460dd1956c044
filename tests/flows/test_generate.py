"""The law of missing code in whole runs: written, tested in real boxes, confirmed, published.

Covers `flows.generate`, `flows.cli.pipeline`.
"""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.agents.conftest import IN_DOUBT
from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import COSQA, Case, World, environment, judged, read, rule, written
from tests.tasks.benchmarks.test_sheets import fill

pytestmark = [
    pytest.mark.docker, pytest.mark.slow, pytest.mark.nightly,
    pytest.mark.usefixtures("engine"),
]  # fmt: skip

CASES = [
    Case("python double a value", "def double(value):\n    return value * 2", ()),
    Case("python halve a value", "def halve(value):\n    return value", ()),
]
WRONG, RIGHT = "def half(value):\n    return value", "def half(value):\n    return value / 2"
PROGRAM = (
    "from target import half\n\ndef test_it():\n    assert half(4) == 2\n    assert half(1) == 0.5"
)
SCRIPT = [
    read("answers") | {"query": CASES[0].query},
    read("does_not_answer"),
    rule("code_writer", {"reply": {"code": WRONG}}, {"reply": {"code": RIGHT}}),
    *IN_DOUBT,
    written(PROGRAM),
    rule("blind_writer", {"reply": {"reading": "as scripted", "program": PROGRAM}}),
    judged("answers") | {"code": "/ 2"},
    judged("does_not_answer"),
]


def test_a_missing_code_is_written_tested_confirmed_and_published(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer(SCRIPT) as model:
        world = World(
            folder,
            environment(
                model.base_url,
                PREFECT_API_URL=prefect_server,
                COSQA_ANNOTATION__CONFIGURATION="single",
            ),
        )
        world.write(CASES, labels=False)
        for command in ("collect", "annotate"):
            done = world.run(command)
            assert done.returncode == 0, done.stdout[-5000:]
        assert "jsonl has 1 query without a match" in world.run("generate", "--dry-run").stdout
        first = world.run("generate")
        assert "1 answers verified, 1 refused by the agents" in first.stdout, first.stdout
        calls = len(model.calls)
        assert "1 one that waits for people" in world.run("generate").stdout
        assert len(model.calls) == calls, "what waits for people is not written again"
    assert world.run("publish").returncode == 0
    assert origins(world) == {"agents"}, "nobody has confirmed it yet"
    sheet = world.output / "jsonl-generated.csv"
    fill(sheet, lambda number, row: row.update(annotator="first", relevance="1"))
    read_back = world.finish(
        [COSQA, "generate", "--confirmed", str(sheet), "--store", str(world.store)]
    )
    assert "1 answers confirmed" in read_back.stdout, read_back.stdout
    assert world.run("publish").returncode == 0
    assert origins(world) == {"agents", "generated"}
    runs = world.rows("SELECT outcome FROM executions ORDER BY outcome")
    assert runs == [("assertion_failed",), ("assertion_failed",), ("passed",)], "in boxes"


def origins(world: World) -> set[str]:
    """Return what the exported labels' origins begin with."""
    table = pq.read_table(world.output / "jsonl-agents" / "labels.parquet")
    return {row["origin"].partition(":")[0] for row in table.to_pylist()}
