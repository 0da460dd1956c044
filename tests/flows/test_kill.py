"""Laws of kills: whichever process or node dies at any moment, no reply is paid for twice.

Each process is killed as `kill -9` does, and the same command goes on.

Covers `tasks.stages.annotate.ledger_actor`, `tasks.stages.annotate.shards`,
`tasks.runtime.ray_tasks`.
"""

import logging
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
from ray._private.state import available_resources_per_node
from ray.cluster_utils import Cluster

from tests.chaos.breaks import seconds_of, title_of
from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import World, additions, read, reading_world
from tests.prefect_api import ask
from tests.waiting import until

pytestmark = [pytest.mark.slow(200), pytest.mark.nightly]


PAIRS, IN_FLIGHT, MOST_RUNS = 60, 8, 4
CASES = additions(PAIRS)
VICTIMS = {
    "a shard": "ray::annotate-shard",
    "the journal's owner": "ray::LedgerActor",
    "a node": "raylet",
    "Ray's head": "gcs_server",
}


def run_until_asked(
    command: Sequence[str], world: World, model: ScriptedServer, asked: int, victim: str
) -> int:
    """Run a command, kill a process once so many requests have come, and return the status."""
    log = world.folder / "killed.log"
    with (
        log.open("w") as out,
        subprocess.Popen(command, env=world.env, cwd=world.folder, stdout=out, stderr=out) as run,
    ):
        try:
            until(lambda: len(model.calls) >= asked or run.poll() is not None)
            assert run.poll() is None, log.read_text()[-5000:]
            if victim == "the flow":
                run.kill()
            else:
                running = psutil.Process(run.pid).children(recursive=True)
                found = [one for one in running if title_of(one).startswith(VICTIMS[victim])]
                max(found, key=seconds_of).kill()
            return run.wait(400)
        finally:
            run.kill()


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.99])
@pytest.mark.parametrize("victim", ["the flow", *VICTIMS])
def test_only_requests_on_the_wire_are_asked_again(
    folder: Path, prefect_server: str, victim: str, share: float
) -> None:
    (reply,) = read("answers")["steps"]
    with ScriptedServer([read("answers") | {"steps": [reply | {"delay_s": 0.3}]}]) as model:
        at_once = {"COSQA_ANNOTATION__IN_FLIGHT": str(IN_FLIGHT)}
        world = reading_world(folder, model.base_url, prefect_server, **at_once)
        world.write(CASES, labels=False)
        collected = world.run("collect")
        assert collected.returncode == 0, collected.stdout[-5000:]
        command = world.command("annotate")
        status = run_until_asked(command, world, model, max(1, round(share * PAIRS)), victim)
        assert status or victim != "the flow"
        for _ in range(MOST_RUNS):
            if not status:
                break
            again = world.run_alone("annotate")
            status = again.returncode
        assert status == 0, again.stdout[-5000:]
    judged = world.rows("SELECT status, count(*) FROM annotations GROUP BY 1")
    assert judged == [("labelled", PAIRS)]
    assert len(model.calls) <= PAIRS + IN_FLIGHT, "only what was on the wire is asked again"


NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
PLACES_A_SHARD = 16
MANY = additions(9 * PLACES_A_SHARD)


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
        at_once = {"COSQA_ANNOTATION__IN_FLIGHT": str(3 * PLACES_A_SHARD)}
        world = reading_world(folder, model.base_url, prefect_server, **at_once)
        world.write(MANY, labels=False)
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
        ("labelled", len(MANY))
    ]
    assert len(model.calls) <= len(MANY) + PLACES_A_SHARD, "only what was in flight is asked again"
    at_work = {"task_runs": {"state": {"type": {"any_": ["RUNNING", "PENDING"]}}}}
    assert ask("POST", f"{prefect_server}/task_runs/filter", at_work) == []
