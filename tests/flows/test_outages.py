"""The law of outages: what passes by itself costs its own time, no run, and no reply twice.

Covers `tasks.runtime.caching`, `tasks.stages.annotate.judge`, `tasks.stages.annotate.gather`.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from infra.settings import SandboxSettings
from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import Case, World, environment, judged, read, rule, screened, written
from tests.prefect_api import ask
from tests.sandbox.own_engine import own_engine, whats_missing
from tests.waiting import until

pytestmark = [pytest.mark.slow(90), pytest.mark.nightly]

PAIRS = 24
CASES = [
    Case(f"python add {number}", f"def plus_{number}(value):\n    return value + {number}", ())
    for number in range(PAIRS)
]
(REPLY,) = read("answers")["steps"]
AWAY = rule("exact_judge", {"status": 503, "message": "overloaded"})
HOLDS = """
import sys, time
import duckdb
while True:
    try:
        held = duckdb.connect(sys.argv[1])
        break
    except duckdb.IOException:
        time.sleep(0.01)
print("held", flush=True)
sys.stdin.read()
"""
AWAITS, AGAIN = "AwaitingRetry", "Retrying"


class Scene:
    """A world whose pairs are found, its scripted model, and what Prefect keeps of a run."""

    def __init__(self, folder: Path, server: str, model: ScriptedServer, **more: str) -> None:
        self.model = model
        self._api = server
        self._began = datetime.now(UTC).isoformat()
        env = environment(
            model.base_url,
            PREFECT_API_URL=server,
            COSQA_ANNOTATION__CONFIGURATION="single",
            COSQA_ANNOTATION__IN_FLIGHT="4",
            COSQA_ANNOTATION__STOP_AFTER_FAILURES="3",
        )
        self.world = World(folder, env | more)
        self.world.write(CASES, labels=False)

    def found(self) -> None:
        """Find the candidates."""
        done = self.world.run("collect")
        assert done.returncode == 0, done.stdout[-5000:]

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Run a command in a process of its own, which ends well after the block."""
        log = self.world.folder / f"{name}.log"
        command = self.world.command(name)
        with (
            log.open("w") as out,
            subprocess.Popen(
                command, env=self.world.env, cwd=self.world.folder, stdout=out, stderr=out
            ) as run,
        ):
            try:
                yield
                assert run.wait(400) == 0, log.read_text()[-5000:]
            except BaseException:
                print(log.read_text()[-5000:])
                raise
            finally:
                run.kill()

    def states(self, task: str) -> list[list[str]]:
        """Return the names of the states of each run of a task, in order."""
        chosen = {
            "task_runs": {
                "tags": {"all_": [task]},
                "start_time": {"after_": self._began},
            }
        }
        runs: list[dict[str, Any]] = ask("POST", f"{self._api}/task_runs/filter", chosen)
        return [
            [
                state["name"]
                for state in ask("GET", f"{self._api}/task_run_states/?task_run_id={one['id']}")
            ]
            for one in runs
        ]

    def assert_right_and_paid_once(self) -> None:
        """All pairs have their label, no task is left at work, and no reply was asked for twice."""
        rows = self.world.rows("SELECT status, label, count(*) FROM annotations GROUP BY 1, 2")
        assert rows == [("labelled", 1, PAIRS)]
        asked = [json.dumps(call["messages"]) for call in self.model.answered]
        assert len(asked) == len(set(asked)), "nothing is paid twice"
        unfinished = {"state": {"type": {"any_": ["RUNNING", "PENDING", "SCHEDULED"]}}}
        assert ask("POST", f"{self._api}/task_runs/filter", {"task_runs": unfinished}) == []


def test_a_provider_that_is_away_for_longer_than_the_client_asks_costs_that_time_alone(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer([rule("exact_judge", REPLY | {"delay_s": 0.2})]) as model:
        scene = Scene(folder, prefect_server, model)
        scene.found()
        with scene.running("annotate"):
            until(lambda: len(model.answered) >= 8)
            model.follow([AWAY])
            until(lambda: [AWAITS in states for states in scene.states("judge")] == [True])
            refused = len(model.calls)
            until(lambda: len(model.calls) > refused, awaited="its second try")
            model.follow([rule("exact_judge", REPLY)])
        (judge,) = scene.states("judge")
        assert judge.count(AWAITS) >= 1
        assert judge[-2:] == [AGAIN, "Completed"]
        scene.assert_right_and_paid_once()


@contextmanager
def held(world: World) -> Iterator[None]:
    """Hold the store's file as another program that has opened it does."""
    store = world.database().settings.database
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(store)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as holder:  # fmt: skip
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield
        holder.communicate()


def test_a_store_that_another_program_holds_while_pairs_are_judged_is_waited_for(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer([rule("exact_judge", REPLY | {"delay_s": 0.5})]) as model:
        scene = Scene(folder, prefect_server, model, COSQA_STORE__LOCK_TIMEOUT_S="2")
        scene.found()
        with scene.running("annotate"):
            until(lambda: len(model.answered) >= 4)
            with held(scene.world):
                time.sleep(10)
        assert [states[-1] for states in scene.states("judge")] == ["Completed"]
        scene.assert_right_and_paid_once()


def test_a_stage_that_finds_the_store_held_is_tried_again(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer([rule("exact_judge", REPLY)]) as model:
        scene = Scene(folder, prefect_server, model, COSQA_STORE__LOCK_TIMEOUT_S="2")
        with scene.running("collect"):
            until(lambda: any("Running" in states for states in scene.states("embed")))
            with held(scene.world):
                until(lambda: any(AWAITS in states for states in scene.states("embed")))
        embedded = scene.states("embed")
        assert scene.world.run("annotate").returncode == 0
        assert [states[-1] for states in embedded] == ["Completed"] * len(embedded)
        assert any(states[-2:] == [AGAIN, "Completed"] for states in embedded)
        scene.assert_right_and_paid_once()


@pytest.mark.docker
def test_an_engine_that_is_started_again_costs_that_time_alone(
    folder: Path, prefect_server: str, engine: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if missing := whats_missing():
        pytest.skip(missing)
    program = "import target\nimport time\n\ntime.sleep(1)\nassert callable(vars(target)[%r])\n"
    script = [
        screened("unclear") | {"query": "*"},
        *(
            written(program % f"plus_{number}") | {"query": case.query}
            for number, case in enumerate(CASES)
        ),
        judged("answers") | {"query": "*"},
    ]
    with (
        own_engine(tmp_path_factory.mktemp("engine"), SandboxSettings().image, 2500) as own,
        ScriptedServer(script) as model,
    ):
        scene = Scene(
            folder, prefect_server, model, DOCKER_HOST=own.address,
            COSQA_ANNOTATION__CONFIGURATION="paper",
        )  # fmt: skip
        scene.found()
        with scene.running("annotate"):
            until(lambda: model.count("arbiter") >= 4)
            own.kill()
            until(lambda: [AWAITS in states for states in scene.states("judge")] == [True])
            own.start()
        (judge,) = scene.states("judge")
        assert judge[-2:] == [AGAIN, "Completed"]
        scene.assert_right_and_paid_once()
