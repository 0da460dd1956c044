"""Laws of published benchmarks in whole runs when the recipe changes: none shrinks."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import Case, World, environment, read

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

CASES = [
    Case(
        f"python multiply a number by {number}",
        f"def times_{number}(value):\n    return value * {number}",
        (read("answers" if number % 2 else "does_not_answer"),),
    )
    for number in range(6)
]


def export_of(world: World) -> Path:
    [folder] = world.output.glob("*-agents")
    return folder


def published(world: World) -> dict[str, Any]:
    done = world.run("publish")
    assert done.returncode == 0, done.stdout[-5000:]
    manifest = json.loads((export_of(world) / "manifest.json").read_text("utf-8"))
    assert isinstance(manifest, dict)
    return manifest


def origins(world: World) -> list[str]:
    labels = pq.read_table(export_of(world) / "labels.parquet")
    return [str(origin) for origin in labels["origin"].to_pylist()]


def test_a_benchmark_keeps_its_size_under_another_recipe_and_comes_back_with_the_first(
    folder: Path, prefect_server: str
) -> None:
    script = [rule | {"query": case.query} for case in CASES for rule in case.rules]
    with ScriptedServer(script) as model:
        env = environment(
            model.base_url,
            PREFECT_API_URL=prefect_server,
            COSQA_ANNOTATION__CONFIGURATION="v1-exact",
        )
        world = World(folder, env)
        world.write(CASES, labels=False)
        for command in ("collect", "annotate"):
            done = world.run(command)
            assert done.returncode == 0, done.stdout[-5000:]
        first = published(world)
        assert first["counts"]["labels"] == len(model.calls) == 6
        world.env["COSQA_LLM__TEMPERATURE"] = "0.5"
        assert world.run("annotate", "--limit", "2").returncode == 0
        assert len(model.calls) == 8
        second = published(world)
        former, in_use = first["recipes"][0]["recipe_id"], second["recipes"][1]["recipe_id"]
        assert (second["counts"], second["removed"]) == (first["counts"], {})
        assert [(row["recipe_id"], row["labels"], row["stale"]) for row in second["recipes"]] == [
            (former, 4, 4),
            (in_use, 2, 0),
        ]
        assert sorted(origins(world)) == sorted([f"agents:{former}"] * 4 + [f"agents:{in_use}"] * 2)
        del world.env["COSQA_LLM__TEMPERATURE"]
        assert "Nothing was left to do" in world.run("annotate").stdout
        assert len(model.calls) == 8, "former labels are not paid again"
        third = published(world)
    assert third["fingerprint"] == first["fingerprint"]
    assert set(origins(world)) == {f"agents:{former}"}
