"""The law of resumption for annotation: whatever is killed, no pair and no paid reply is lost.

Covers `tasks.stages.annotate.gather`, `tasks.stages.annotate.judge`, `tasks.runtime.ray_queue`.
"""

import json
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from tests.chaos.breaks import seconds_of, title_of
from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import Case, World, environment, read, rule

pytestmark = [pytest.mark.slow(30), pytest.mark.nightly]

PAIRS, IN_FLIGHT = 40, 4
CASES = [
    Case(
        f"python multiply by {number}",
        f"def times_{number}(value):\n    return value * {number}",
        (),
    )
    for number in range(PAIRS)
]
VICTIMS = {
    "flow": "",
    "judge": "ray::",
    "raylet": "raylet",
    "Ray head": "gcs_server",
}
(REPLY,) = read("answers")["steps"]
JUDGED = {
    "COSQA_ANNOTATION__CONFIGURATION": "single",
    "COSQA_ANNOTATION__IN_FLIGHT": str(IN_FLIGHT),
}
SLOWLY = rule("exact_judge", REPLY | {"delay_s": 0.3})


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> World:
    """A world whose pairs are found, and not judged."""
    env = environment("", PREFECT_API_URL=prefect_server, **JUDGED)
    world = World(tmp_path_factory.mktemp("collected"), env)
    world.write(CASES, labels=False)
    done = world.run("collect")
    assert done.returncode == 0, done.stdout[-5000:]
    return world


@pytest.mark.parametrize(
    ("victim", "calls"),
    [
        pytest.param("flow", 36),
        ("judge", 15),
        pytest.param("raylet", 15),
        pytest.param("Ray head", 1),
    ],
)
def test_whatever_is_killed_the_next_run_completes_and_pays_for_no_reply_twice(
    folder: Path, collected: World, prefect_server: str, victim: str, calls: int
) -> None:
    with ScriptedServer([SLOWLY]) as model:
        world = World(
            folder,
            environment(
                model.base_url,
                PREFECT_API_URL=prefect_server,
                **JUDGED,
            ),
            origin=collected.folder,
        )
        shutil.copytree(collected.store, world.store)
        killed = _killed_at(world, model, VICTIMS[victim], calls)
        if victim == "judge":
            assert killed == 0, "another process goes on in the same run"
        last = world.run("annotate")
        assert last.returncode == 0, last.stdout[-5000:]
        asked = Counter(json.dumps(call["messages"]) for call in model.calls)
    rows = world.rows("SELECT query_id, code_id FROM annotations WHERE status = 'labelled'")
    assert len(rows) == len(set(rows)) == PAIRS
    assert len(asked) == PAIRS
    assert sum(asked.values()) - PAIRS <= IN_FLIGHT, "only what was on the wire was asked again"


def _killed_at(world: World, model: ScriptedServer, name: str, calls: int) -> int:
    """Run the command, kill a process of it after so many calls; return the command's status."""
    log = world.folder / "killed.log"
    command = world.command("annotate")
    with (
        log.open("w") as out,
        subprocess.Popen(command, env=world.env, cwd=world.folder, stdout=out, stderr=out) as flow,
    ):
        deadline = time.monotonic() + 900
        while len(model.calls) < calls:
            assert flow.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        _victim(psutil.Process(flow.pid), name).kill()
        try:
            return flow.wait(timeout=900)
        except subprocess.TimeoutExpired:
            flow.kill()
            raise AssertionError(f"no end after the kill: {log.read_text()[-3000:]}") from None


def _victim(flow: psutil.Process, name: str) -> psutil.Process:
    """Return the process of a run whose command begins so; of judges the busiest."""
    if not name:
        return flow
    found = [one for one in flow.children(recursive=True) if title_of(one).startswith(name)]
    assert found, [title_of(one) for one in flow.children(recursive=True)]
    return max(found, key=seconds_of)
