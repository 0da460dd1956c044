"""The law of kills: whichever process of a run dies at any moment, no reply is paid for twice.

Each is killed as `kill -9` does, and the same command goes on.

Covers `tasks.stages.annotate.ledger_actor`.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from tests.chaos.breaks import seconds_of, title_of
from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import World, additions, environment, read
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
        world = World(
            folder,
            environment(
                model.base_url,
                PREFECT_API_URL=prefect_server,
                COSQA_ANNOTATION__CONFIGURATION="single",
                COSQA_ANNOTATION__IN_FLIGHT=str(IN_FLIGHT),
            ),
        )
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
