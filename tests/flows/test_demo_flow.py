"""Laws of runs without a key: labels by the embedded model are marked as a demo.

Covers `tasks.stages.annotate.model_server`.
"""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.flows.cases import CASES
from tests.flows.world import World, environment

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.usefixtures("engine")]


@pytest.mark.nightly
def test_labels_of_the_embedded_model_are_marked_and_exported_on_demand_only(
    folder: Path, prefect_server: str
) -> None:
    env = environment("", PREFECT_API_URL=prefect_server)
    world = World(folder, {k: v for k, v in env.items() if not k.startswith("COSQA_LLM__")})
    world.write([CASES["clear_match"], CASES["clear_non_match"]])

    first = world.run_alone("benchmark")
    assert first.returncode == 0, first.stdout
    assert "--allow-demo" in first.stdout
    assert not (world.output / "jsonl-agents").exists()
    assert world.rows("SELECT bool_and(demo), count(*) FROM annotations") == [(True, 2)]
    assert "demo of the pipeline" in (world.output / "report.html").read_text()

    second = world.run("benchmark", "--allow-demo")
    assert second.returncode == 0, second.stdout
    exported = world.output / "jsonl-agents"
    marks = pq.read_table(exported / "labels.parquet").column("demo").to_pylist()
    assert marks
    assert all(marks)
    assert json.loads((exported / "manifest.json").read_text())["demo"] is True
    assert "Demo labels: do not use them" in (exported / "README.md").read_text()
    assert world.rows("SELECT count(*) FROM annotations") == [(2,)]


def test_a_plan_before_anything_is_collected_says_what_all_pairs_take_and_makes_no_store(
    folder: Path, prefect_server: str
) -> None:
    world = World(folder, environment("", PREFECT_API_URL=prefect_server))
    world.write(list(CASES.values()))
    told = world.run("benchmark", "--plan", "--limit", "3", "--model", "openai/gpt-4o-mini")
    assert told.returncode == 0, told.stdout
    assert "3 of 3 pending pairs of jsonl: new queries 3; by openai/gpt-4o-mini" in told.stdout
    assert not world.store.exists()
