"""The law of months: what dies is started again, and no death stops a schedule.

Covers `flows.cli.server`, `flows.runtime.local_server`, `flows.runtime.writing`.
"""

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

from infra.settings import StoreSettings
from infra.store import open_database
from infra.store.runs import lease_holder
from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import COSQA, Case, World, environment, judged, read, rule, screened, written
from tests.ports import free_port
from tests.prefect_api import ask
from tests.processes import still_running

pytestmark = [pytest.mark.slow(220), pytest.mark.nightly]

ROOT = Path(__file__).parents[2]
CASES = [
    Case(f"python add {number}", f"def plus_{number}(value):\n    return value + {number}", ())
    for number in range(4)
]
(REPLY,) = read("answers")["steps"]
NEVER = rule("exact_judge", REPLY | {"delay_s": 600})
TOML = '[source]\nname = "jsonl"\npath = "source"\n[search]\ntop_k = 1\n'
OWNER = '{{.Label "cosqa.owner"}}'
SECRET = "sk-of-a-provider"


def waited(find: Callable[[], Any], timeout_s: float = 360.0) -> Any:
    """Return what ``find`` gives as soon as it gives something."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if found := find():
            return found
        time.sleep(0.5)
    raise AssertionError(f"not within {timeout_s:g} s: {find}")


def boxes_of(processes: list[psutil.Process]) -> list[str]:
    """Return the owners of boxes that run, of those that these processes have started."""
    listed = ["docker", "ps", "--filter", "label=cosqa.sandbox=1", "--format", OWNER]
    owners = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
    pids = {str(process.pid) for process in processes}
    return [owner for owner in owners if owner.split("/")[4] in pids]


class Served:
    """A ``cosqa server`` in a process of its own, and its API."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        port = free_port()
        self.api = f"http://127.0.0.1:{port}/api"
        self.log = folder / "server.log"
        command = [COSQA, "server", "--port", str(port), "--folder", str(folder)]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, env=env, cwd=folder.parent, stdout=log, stderr=subprocess.STDOUT
            )
        waited(lambda: "The UI is at" in self.log.read_text())

    def get(self, path: str) -> Any:
        return ask("GET", f"{self.api}/{path}")

    def post(self, path: str, content: Any) -> Any:
        return ask("POST", f"{self.api}/{path}", content)

    def deployment(self, name: str) -> str:
        return str(self.get(f"deployments/name/{name}/{name}")["id"])

    def run(self, name: str, *, ended: bool = True) -> str:
        """Start a run of a deployment, wait for its end if that is asked, and return its id."""
        started = self.post(f"deployments/{self.deployment(name)}/create_flow_run", {})["id"]
        if ended:
            waited(lambda: self.get(f"flow_runs/{started}")["state_type"] == "COMPLETED")
        return str(started)

    def runs(self, name: str) -> list[dict[str, Any]]:
        """Return a deployment's runs that have begun or ended, the first one first."""
        chosen = {"deployments": {"id": {"any_": [self.deployment(name)]}}}
        order = {"sort": "EXPECTED_START_TIME_ASC"}
        found = self.post("flow_runs/filter", chosen | order)
        return [run for run in found if run["start_time"] or run["state_type"] == "CANCELLED"]

    def prepared(self, name: str) -> str:
        """Collect; return the path of a deployment that nobody approves and that nothing started.

        It is paused meanwhile, so that `collect` does not start it.
        """
        path = f"deployments/{self.deployment(name)}"
        ask("PATCH", f"{self.api}/{path}", {"parameters": {"approve": False}, "paused": True})
        self.run("collect")
        ask("PATCH", f"{self.api}/{path}", {"paused": False})
        return path

    def child(self, words: str) -> psutil.Process:
        """Return the child whose command line has these words, once there is one."""

        def find() -> psutil.Process | None:
            for process in psutil.Process(self.process.pid).children(recursive=True):
                with suppress(psutil.Error):  # it has just ended
                    if words in " ".join(process.cmdline()):
                        return process
            return None

        found: psutil.Process = waited(find)
        return found


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer([NEVER]) as server:
        yield server


@pytest.fixture
def served(
    tmp_path: Path, model: ScriptedServer, request: pytest.FixtureRequest
) -> Iterator[Served]:
    world = World(tmp_path / "work", {})
    world.write(CASES, labels=False)
    (world.folder / "cosqa.toml").write_text(TOML)
    env = environment(
        model.base_url,
        PREFECT_HOME=str(tmp_path / "prefect"),
        PYTHONPATH=os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(ROOT)]),
        PREFECT_WORKER_QUERY_SECONDS="2",
        COSQA_ANNOTATION__CONFIGURATION=getattr(request, "param", "single"),
        OTHER_PROVIDER_API_KEY=SECRET,
    )
    env.pop("PREFECT_API_URL", None)
    server = Served(world.folder, env)
    yield server
    left = psutil.Process(server.process.pid).children(recursive=True)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(240) == 0, server.log.read_text()[-3000:]
    # Ray's agents look for a minute for the head of their cluster before they give up.
    assert still_running(left, 240) == [], "nothing outlives it"


def test_a_dead_worker_with_the_lease_stops_no_schedule(
    served: Served, model: ScriptedServer, tmp_path: Path
) -> None:
    store = StoreSettings(folder=tmp_path / "work" / "cosqa-data")
    annotate = served.prepared("annotate")
    first = served.run("annotate", ended=False)
    waited(lambda: model.count("exact_judge") == len(CASES))
    holder = lease_holder(store)
    assert holder is not None
    assert holder.name.startswith("annotate")
    assert SECRET not in str(served.child("prefect server start").environ())
    every_minute = {"cron": "* * * * *", "timezone": "UTC"}
    served.post(f"{annotate}/schedules", [{"schedule": every_minute, "active": True}])
    model.follow([rule("exact_judge", REPLY)])
    served.child("prefect worker start").kill()
    os.kill(holder.pid, signal.SIGKILL)
    dead = time.time()

    def next_run() -> dict[str, Any] | None:
        scheduled = [run for run in served.runs("annotate") if run["auto_scheduled"]]
        return next((run for run in scheduled if run["start_time"]), None)

    times = [waited(next_run)[name] for name in ("start_time", "expected_start_time")]
    started, due = (datetime.fromisoformat(time_of).timestamp() for time_of in times)
    print(f"the next scheduled run began {started - dead:.0f} s after the death")
    assert started - max(dead, due) < 120
    waited(lambda: any(run["state_type"] == "COMPLETED" for run in served.runs("annotate")))
    with open_database(store).transaction() as tx:
        assert tx.count("SELECT count(*) FROM annotations WHERE label = 1") == len(CASES)
    waited(lambda: served.get(f"flow_runs/{first}")["state_type"] == "CRASHED")
    print(f"the dead run was ended {time.time() - dead:.0f} s after the death")
    server = served.child("prefect server start")
    server.kill()
    waited(lambda: served.child("prefect server start").pid != server.pid)
    waited(lambda: served.log.read_text().count("starting it again") >= 2)


def test_a_killed_worker_s_run_goes_on_by_itself(
    served: Served, model: ScriptedServer, tmp_path: Path
) -> None:
    store = StoreSettings(folder=tmp_path / "work" / "cosqa-data")
    served.prepared("annotate")
    (buries,) = [
        each for each in served.post("automations/filter", {}) if "no sign of life" in each["name"]
    ]
    soon = {"trigger": buries["trigger"] | {"within": 60}}
    kept = {key: buries[key] for key in ("name", "description", "enabled", "actions")}
    ask("PUT", f"{served.api}/automations/{buries['id']}", kept | soon)
    first = served.run("annotate", ended=False)
    waited(lambda: model.count("exact_judge") == len(CASES))
    holder = lease_holder(store)
    assert holder is not None
    model.follow([rule("exact_judge", REPLY)])
    served.child("prefect worker start").kill()
    os.kill(holder.pid, signal.SIGKILL)
    waited(lambda: served.get(f"flow_runs/{first}")["state_type"] == "CRASHED")
    waited(lambda: [run["state_type"] for run in served.runs("annotate")][1:] == ["COMPLETED"])
    (crashed, again) = served.runs("annotate")
    assert crashed["id"] == first
    assert again["created_by"]["type"] == "AUTOMATION"
    assert again["parameters"] == crashed["parameters"] != {}
    with open_database(store).transaction() as tx:
        assert tx.count("SELECT count(*) FROM annotations WHERE label = 1") == len(CASES)


@pytest.mark.docker
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("served", ["paper"], indirect=True)
def test_a_cancelled_run_leaves_nothing_at_work_and_its_retry_does_the_rest(
    served: Served, model: ScriptedServer, tmp_path: Path
) -> None:
    def turn_to(state: dict[str, Any], awaited: str) -> None:
        served.post(f"flow_runs/{run}/set_state", state)
        waited(lambda: served.get(f"flow_runs/{run}")["state_type"] == awaited)

    store = StoreSettings(folder=tmp_path / "work" / "cosqa-data")
    program = "import target\nimport time\n\ntime.sleep(5)\nassert vars(target)\n"
    roles = [screened("unclear"), written(program), judged("answers")]
    model.follow([of_role | {"query": "*"} for of_role in roles])
    served.prepared("annotate")
    run = served.run("annotate", ended=False)
    waited(lambda: model.count("writer") > 0)
    holder = lease_holder(store)
    assert holder is not None
    family = psutil.Process(holder.pid).children(recursive=True)
    waited(lambda: boxes_of(family))
    turn_to({"state": {"type": "CANCELLING"}}, "CANCELLED")
    assert still_running(family, 240) == []
    assert lease_holder(store) is None
    waited(lambda: not boxes_of(family))
    at_work = {"state": {"type": {"any_": ["RUNNING", "PENDING", "CANCELLING"]}}}
    for kind in ("task_runs", "flow_runs"):
        assert served.post(f"{kind}/filter", {kind: at_work}) == []
    turn_to({"state": {"type": "SCHEDULED", "name": "AwaitingRetry"}, "force": True}, "COMPLETED")
    with open_database(store).transaction() as tx:
        assert tx.count("SELECT count(*) FROM annotations WHERE label = 1") == len(CASES)
    assert model.count("screener") == len(CASES), "no reply is paid twice"


CHAINS = 20


@pytest.mark.slow(1200)
def test_of_twenty_scheduled_chains_none_is_lost_and_none_comes_twice(
    served: Served, model: ScriptedServer, tmp_path: Path
) -> None:
    model.follow([rule("exact_judge", REPLY) | {"query": "*"}])
    collect, annotate = (
        f"deployments/{served.deployment(name)}" for name in ("collect", "annotate")
    )
    ask("PATCH", f"{served.api}/{annotate}", {"parameters": {"approve": False}})
    for number in range(1, CHAINS + 1):
        due = {"scheduled_time": (datetime.now(UTC) + timedelta(seconds=1)).isoformat()}
        state = {"type": "SCHEDULED", "state_details": due}
        served.post(f"{collect}/create_flow_run", {"state": state})
        waited(lambda: ended(served, "annotate") >= number)  # noqa: B023 - it is waited for here
    time.sleep(30)  # for what would come twice
    for name in ("collect", "annotate"):
        states = [run["state_type"] for run in served.runs(name)]
        print(f"{len(states)} {name}: {Counter(states)}")
        assert states == ["COMPLETED"] * CHAINS
    print("the database was locked", served.log.read_text().count("database is locked"), "times")
    with open_database(StoreSettings(folder=tmp_path / "work" / "cosqa-data")).transaction() as tx:
        assert tx.count("SELECT count(*) FROM annotations WHERE label = 1") == len(CASES)


def ended(served: Served, name: str) -> int:
    """Return how many runs of a deployment have ended, well or not."""
    return sum(bool(run["end_time"]) for run in served.runs(name))
