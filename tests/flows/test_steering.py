"""Laws of steering a run that goes on: it obeys within seconds, says so, and loses nothing.

Covers `flows.cli.steering`.
"""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    LogFilter,
    LogFilterTaskRunId,
)
from prefect.settings import PREFECT_API_URL, temporary_settings
from typer.testing import CliRunner

from flows.cli.main import app
from infra.settings import StoreSettings
from infra.store.runs import JudgingState, StageState, read_state
from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import Case, World, environment, read

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

_PATIENCE_S = 600  # tests that run beside it take its cores

CASES = [
    Case(f"add {number} to a value", f"def plus_{number}(value):\n    return value + {number}", ())
    for number in range(24)
]
ANSWER = read("answers")
SLOW = ANSWER | {"steps": [step | {"delay_s": 12.0} for step in ANSWER["steps"]]}


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer([SLOW]) as server:
        yield server


@pytest.fixture
def world(folder: Path, model: ScriptedServer, prefect_server: str) -> World:
    world = World(
        folder,
        environment(
            model.base_url,
            PREFECT_API_URL=prefect_server,
            COSQA_ANNOTATION__CONFIGURATION="single",
            COSQA_ANNOTATION__IN_FLIGHT="2",
        ),
    )
    world.write(CASES)
    assert world.run("collect").returncode == 0
    return world


def steer(world: World, *words: str) -> str:
    """Run a command that changes controls, in this process; return what it printed."""
    done = CliRunner().invoke(app, [*words, "--store", str(world.store)])
    assert done.exit_code == 0, done.output
    return done.output


def until(
    world: World, reached: Callable[[StageState], bool], process: subprocess.Popen[str]
) -> StageState:
    """Wait until the state of the judging stage is as wanted; return it."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        state = read_state(StoreSettings(folder=world.store))
        if state and state.judging and reached(state):
            return state
        assert process.poll() is None, "the run has ended"
        time.sleep(0.1)
    raise AssertionError(f"not reached: {state}")


def judging(state: StageState) -> JudgingState:
    """Return what is particular to judging; the states that `until` looks at have it."""
    assert state.judging
    return state.judging


def worker_logs(prefect_server: str) -> str:
    """Return what the server has as the logs of the judges' task runs."""
    with temporary_settings({PREFECT_API_URL: prefect_server}), get_client(sync_client=True) as to:
        judges = [run.id for run in to.read_task_runs() if run.name.startswith("judge ")]
        assert judges
        logs = to.read_logs(LogFilter(task_run_id=LogFilterTaskRunId(any_=judges)))
    return "\n".join(log.message for log in logs)


def test_a_run_that_goes_on_is_paused_resumed_and_limited(
    world: World, model: ScriptedServer, prefect_server: str
) -> None:
    assert "In force: paused (for the next run" in steer(world, "pause")
    with (world.folder / "log").open("w+") as log, subprocess.Popen(
        world.command("annotate"), env=world.env, cwd=world.folder, stdout=log,
        stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        try:
            until(world, lambda state: "paused" in str(state.judging), process)
            time.sleep(2)
            assert model.calls == [], "no pair is handed out"
            steer(world, "resume")
            until(world, lambda state: state.done >= 2, process)
            steer(world, "limit", "--in-flight", "24")
            until(world, lambda state: judging(state).held > 2, process)
            assert process.wait(timeout=_PATIENCE_S) == 0
        finally:
            process.kill()
        log.seek(0)
        printed = log.read()
    assert "paused (by " in printed
    assert "resumed (by " in printed
    assert "in_flight: 24 (by " in printed
    assert world.rows("SELECT count(*) FROM annotations WHERE label = 1") == [(24,)]
    assert len(model.calls) == 24, "each pair was asked about once"
    assert "has ended; 0 pairs failed" in worker_logs(prefect_server), "of a Ray worker"
    assert "No control is set" in steer(world, "limit", "--clear")
