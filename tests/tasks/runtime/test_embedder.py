"""Laws of the actors that embed, on a cluster of three nodes of three cores."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.fakes.ray_cluster import BATCHES

pytestmark = pytest.mark.slow


def ends(gpus: int, *scenarios: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fakes.ray_cluster", str(gpus), *scenarios],
        capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("{")]
    found: dict[str, Any] = json.loads(line)
    return found


@pytest.mark.nightly  # eight clusters of three nodes: minutes, and nodes time out on a busy machine
def test_embedding_ends_or_says_why_whatever_happens_to_its_workers_and_nodes() -> None:
    failing = {
        "fails": "failed on a worker.*as ordered",
        "dies_always": "keep dying.*COSQA_ENCODER__ACTORS",
    }
    finishing = ("whole", "dies_once", "no_room", "some_room", "node_joins", "node_leaves")
    ended = ends(0, *failing, *finishing)
    for scenario in finishing:
        assert ended[scenario]["problem"] == "", scenario
        assert ended[scenario]["seen"] == list(range(BATCHES)), f"{scenario}: each came once"
    assert ended["whole"]["free"] == 0, "all cores of all nodes compute"
    assert ended["no_room"]["seconds"] > 8, "they started as a node came"
    assert ended["node_joins"]["free"] == 0, "the node that joined computes"
    for scenario, problem in failing.items():
        assert re.search(problem, ended[scenario]["problem"], re.DOTALL), ended[scenario]


@pytest.mark.nightly
def test_the_second_of_two_actors_on_one_gpu_waits_and_the_first_does_all() -> None:
    (ended,) = ends(1, "two_actors").values()
    assert ended == {"seen": list(range(BATCHES)), "problem": "", "seconds": ended["seconds"]}
