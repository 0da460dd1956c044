"""The law of a cluster that grows and shrinks while pairs are judged: a node that joins is used.

Covers `tasks.stages.annotate.shards`, `tasks.runtime.ray_tasks`.
"""

import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray._private.state import available_resources_per_node
from ray.cluster_utils import Cluster

from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import World, additions, environment, read
from tests.prefect_api import ask
from tests.waiting import until

pytestmark = [pytest.mark.slow(120), pytest.mark.nightly]

NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
PLACES_A_SHARD = 16
CASES = additions(9 * PLACES_A_SHARD)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Two nodes of one core; this process is connected to them."""
    cluster = Cluster(initialize_head=True, head_node_args=NODE)
    cluster.add_node(**NODE)
    ray.init(address=cluster.address, logging_level=logging.ERROR, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()  # type: ignore[no-untyped-call]


def busy() -> set[str]:
    """Return the nodes whose core is taken."""
    free: dict[str, dict[str, float]] = available_resources_per_node()  # type: ignore[no-untyped-call]
    return {node for node, resources in free.items() if not resources.get("CPU")}


def test_shards_that_wait_for_room_start_on_a_node_that_joins_and_outlive_its_loss(
    folder: Path, prefect_server: str, cluster: Cluster
) -> None:
    (reply,) = read("answers")["steps"]
    slow = read("answers") | {"steps": [reply | {"delay_s": 8}]}
    with ScriptedServer([slow]) as model:
        world = World(
            folder,
            environment(
                model.base_url,
                PREFECT_API_URL=prefect_server,
                COSQA_ANNOTATION__CONFIGURATION="single",
                COSQA_ANNOTATION__IN_FLIGHT=str(3 * PLACES_A_SHARD),
            ),
        )
        world.write(CASES, labels=False)
        collected = world.run("collect")
        assert collected.returncode == 0, collected.stdout[-5000:]
        env = world.env | {"COSQA_RAY__ADDRESS": cluster.address}
        log = folder / "annotate.log"
        with (
            log.open("w") as out,
            subprocess.Popen(
                world.command("annotate"), env=env, cwd=folder, stdout=out, stderr=out
            ) as run,
        ):
            try:
                until(lambda: model.calls and len(busy()) == 2)
                joined = cluster.add_node(**NODE)
                until(lambda: joined.node_id in busy())
                asked = len(model.calls)
                until(lambda: len(model.calls) > asked + PLACES_A_SHARD)
                cluster.remove_node(joined, allow_graceful=False)
                assert run.wait(400) == 0, log.read_text()[-5000:]
            finally:
                run.kill()
    assert world.rows("SELECT status, count(*) FROM annotations GROUP BY 1") == [
        ("labelled", len(CASES))
    ]
    assert len(model.calls) <= len(CASES) + PLACES_A_SHARD, "only what was in flight is asked again"
    at_work = {"task_runs": {"state": {"type": {"any_": ["RUNNING", "PENDING"]}}}}
    assert ask("POST", f"{prefect_server}/task_runs/filter", at_work) == []
