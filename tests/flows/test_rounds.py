"""Laws of labelling rounds in whole runs: each asks anew, and the majority is published.

Covers `flows.cli.annotators`, `tasks.runtime.ray_queue`.
"""

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import Case, World, environment, rule
from tests.processes import still_running

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

# What the model says of a pair when it is asked for the first, second and third time.
SAYS = [(1, 0, 1), *[(1, 1, 1)] * 4, *[(0, 0, 0)] * 5]
CASES = [
    Case(
        f"python multiply a number by {number}",
        f"def times_{number}(value):\n    return value * {number}",
        (),
    )
    for number in range(len(SAYS))
]


def noisy_model() -> list[dict[str, Any]]:
    verdicts = ("does_not_answer", "answers")
    return [
        rule(
            "exact_judge",
            *({"reply": {"asked": "a product", "deviations": "d", "verdict": verdicts[label]}}
              for label in SAYS[number]),
        )
        | {"query": case.query}
        for number, case in enumerate(CASES)
    ]  # fmt: skip


def test_rounds_of_a_noisy_model_give_the_alpha_that_is_known_beforehand(
    folder: Path, prefect_server: str
) -> None:
    """Alpha as by hand in ``tests/tasks/statistics/test_rounds.py``: the first label turns once."""
    settings = {
        "PREFECT_API_URL": prefect_server,
        "COSQA_ANNOTATION__CONFIGURATION": "v1-exact",
        "COSQA_EVALUATION__METHODS": '["bm25"]',
    }
    with ScriptedServer(noisy_model()) as model:
        two = environment(model.base_url, COSQA_ANNOTATION__ROUNDS="2", **settings)
        world = World(folder, two)
        world.write(CASES, labels=False)
        assert world.run("collect").returncode == 0
        first = world.run("annotate")
        assert first.returncode == 0, first.stdout[-5000:]
        assert len(model.calls) == 20
        world.env["COSQA_ANNOTATION__ROUNDS"] = "3"
        plan = world.run("annotate", "--plan").stdout
        assert "10 of 10 pending pairs of jsonl" in " ".join(plan.split())
        third = world.run("annotate")
        assert third.returncode == 0, third.stdout[-5000:]
        assert (len(model.calls), still_running(queues(), 60)) == (30, []), (
            "a further round costs its own pairs alone, and its queue ends with it"
        )
        assert "Nothing was left to do" in world.run("annotate").stdout
        assert len(model.calls) == 30
        published = world.run("publish")
        assert published.returncode == 0, published.stdout[-5000:]
        studied = world.run("study")
        assert studied.returncode == 0, studied.stdout[-5000:]
    assert f"{195 / 224:.3f}" in third.stdout, third.stdout
    assert f"{160 / 198:.3f}" in first.stdout, first.stdout
    assert "0.965 and 0.975" in third.stdout
    assert alphas(world) == {"rounds 1 and 2": 160 / 198, "rounds 2 and 3": 160 / 198}
    labels, ones_of_rounds = exported(world)
    assert {row["origin"].partition(", ")[2] for row in labels} == {"majority of 3 rounds"}
    assert sum(row["relevance"] for row in labels) == 5, "the majority undoes the second round"
    assert ones_of_rounds == {1: 5, 2: 4, 3: 5}


def queues() -> list[psutil.Process]:
    """Return the processes of queues, which are the commands' process's descendants."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            if one.cmdline()[:1] == ["ray::PairQueue"]:
                found.append(one)
    return found


def alphas(world: World) -> dict[str, object]:
    """Return the study's alpha of each two consecutive rounds."""
    figures = pq.read_table(world.output / "studies" / "jsonl" / "figures.parquet").to_pylist()
    return {row["row"]: pytest.approx(row["ours"]) for row in figures if row["study"] == "rounds"}


def exported(world: World) -> tuple[list[dict[str, Any]], Counter[int]]:
    """Return the exported labels, and round → number of pairs that it labelled 1."""
    folder = world.output / "jsonl-agents"
    rounds = pq.read_table(folder / "rounds.parquet").to_pylist()
    assert len(set(json.loads((folder / "manifest.json").read_text())["rounds"])) == 3
    ones = Counter(row["round"] for row in rounds if row["label"])
    return pq.read_table(folder / "labels.parquet").to_pylist(), ones
