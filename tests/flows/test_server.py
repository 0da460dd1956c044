"""Laws of `cosqa server`: it serves and runs the deployments, and leaves nothing when it ends.

Its folder may be a stranger's: no module in it runs. Its automations act for runs whose process is
gone.

Covers `flows.cli.server`, `flows.runtime.runs`.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psutil
import pytest
import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.events.schemas.automations import AutomationCore
from prefect.settings import PREFECT_HOME, temporary_settings
from prefect.states import Crashed

from flows.runtime.prefect_server import (
    api_address,
    await_server,
    server_process,
    settings_of_server,
    using_server,
)
from infra.settings import StoreSettings
from infra.store import open_database
from tests.fakes.llm_server import ScriptedServer
from tests.flows.deployed import DEPLOYMENTS
from tests.flows.runtime.test_command_run import Command
from tests.flows.test_untrusted import lay_modules, names_run
from tests.flows.world import COSQA, additions, reading_world
from tests.ports import free_port
from tests.prefect_api import ask, lay_database
from tests.processes import still_running
from tests.waiting import until

pytestmark = pytest.mark.slow(100)

CASES = additions(4)
TOML = '[source]\nname = "jsonl"\npath = "source"\n[search]\ntop_k = 1\n'
SECRET = "sk-of-a-provider"


def waited(find: Callable[[], Any], timeout_s: float = 360.0) -> Any:
    """Return what ``find`` gives as soon as it gives something."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if found := find():
            return found
        time.sleep(0.5)
    raise AssertionError(f"not within {timeout_s:g} s: {find}")


class Served:
    """A ``cosqa server`` in a process of its own, and its API."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        port = free_port()
        self.api = f"http://127.0.0.1:{port}/api"
        self._password = Path(env["PREFECT_HOME"]) / "cosqa-auth"
        self.log = folder / "server.log"
        command = [COSQA, "server", "--port", str(port), "--folder", str(folder)]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, env=env, cwd=folder.parent, stdout=log, stderr=subprocess.STDOUT
            )
        waited(lambda: "The UI is at" in self.log.read_text())
        self.auth = self._password.read_text()

    def get(self, path: str) -> Any:
        return self.ask("GET", path)

    def post(self, path: str, content: Any) -> Any:
        return self.ask("POST", path, content)

    def ask(self, method: str, path: str, content: Any = None) -> Any:
        return ask(method, f"{self.api}/{path}", content, self.auth)

    def deployment(self, name: str) -> str:
        return str(self.get(f"deployments/name/{name}/{name}")["id"])

    def run(self, name: str, parameters: dict[str, Any]) -> str:
        """Start a run of a deployment, and return its id."""
        path = f"deployments/{self.deployment(name)}/create_flow_run"
        return str(self.post(path, {"parameters": parameters})["id"])

    def runs(self, name: str) -> list[dict[str, Any]]:
        """Return a deployment's runs that have begun."""
        chosen = {"deployments": {"id": {"any_": [self.deployment(name)]}}}
        return [run for run in self.post("flow_runs/filter", chosen) if run["start_time"]]

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
def served(tmp_path: Path, agreeing: ScriptedServer) -> Iterator[Served]:
    more = {"PREFECT_WORKER_QUERY_SECONDS": "2", "OTHER_PROVIDER_API_KEY": SECRET}
    home = str(tmp_path / "prefect")
    world = reading_world(tmp_path / "work", agreeing.base_url, PREFECT_HOME=home, **more)
    world.write(CASES, labels=False)
    (world.folder / "cosqa.toml").write_text(TOML)
    mark = lay_modules(world.folder)
    server = Served(world.folder, world.env)
    yield server
    if server.process.poll() is None:  # a test has failed
        server.process.send_signal(signal.SIGINT)
        server.process.wait(240)
    assert names_run(mark) == ""


@pytest.mark.exhaustive
def test_deployments_are_served_and_run_and_nothing_outlives_the_server(served: Served) -> None:
    found = {each["name"]: each for each in served.post("deployments/filter", {})}
    assert found.keys() == DEPLOYMENTS.keys()
    for name, each in DEPLOYMENTS.items():
        assert found[name]["entrypoint"] == each["entrypoint"]
        crons = [schedule["schedule"]["cron"] for schedule in found[name]["schedules"]]
        assert crons == [schedule["cron"] for schedule in each.get("schedules", [])]
    automations = {each["name"]: each["id"] for each in served.post("automations/filter", {})}
    assert automations.keys() > {"annotate after collect", "evaluate after publish"}
    assert any(name.endswith("started again") for name in automations)
    assert SECRET not in str(served.child("loopback_server").environ())
    assert httpx.post(f"{served.api}/deployments/filter", json={}).status_code == 401
    assert served.auth not in served.log.read_text()
    assert "It asks for the password once: the line in " in served.log.read_text()
    page = httpx.get(served.api.removesuffix("/api"), follow_redirects=True)
    assert "Prefect Server" in page.text
    assert httpx.get(served.api.replace("/api", "/ui-settings")).json()["auth"] == "BASIC"
    served.ask("PATCH", f"automations/{automations['annotate after collect']}", {"enabled": False})
    collected = served.run("collect", {"top_k": 2})
    waited(lambda: served.get(f"flow_runs/{collected}")["state_type"] == "COMPLETED")
    left = psutil.Process(served.process.pid).children(recursive=True)
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(240) == 0, served.log.read_text()[-3000:]
    assert still_running(left, 240) == []


@pytest.mark.nightly
def test_a_deployment_runs_with_what_comes_after(served: Served, tmp_path: Path) -> None:
    annotate = f"deployments/{served.deployment('annotate')}"
    served.ask("PATCH", annotate, {"parameters": {"approve": False}})
    collected = served.run("collect", {"reread": True, "top_k": 2})
    waited(lambda: served.get(f"flow_runs/{collected}")["state_type"] == "COMPLETED")
    # More than one where the server's SQLite was locked: the others find nothing to do.
    run, *_ = waited(lambda: served.runs("annotate"))
    assert run["parameters"] == {"top_k": 2, "approve": False}
    waited(lambda: "COMPLETED" in [each["state_type"] for each in served.runs("annotate")])
    with open_database(StoreSettings(folder=tmp_path / "work" / "cosqa-data")).transaction() as tx:
        assert tx.count("SELECT count(*) FROM annotations WHERE label = 1") == 2 * len(CASES)


@pytest.mark.nightly
def test_commands_report_to_the_server_of_their_home_and_are_told_as_they_are(
    served: Served, tmp_path: Path
) -> None:
    (patience,) = (
        each for each in served.post("automations/filter", {}) if "sign of life" in each["name"]
    )
    patience["trigger"]["within"] = 60  # of three minutes; a command beats each half
    asked = {name: patience[name] for name in ("name", "description", "trigger", "actions")}
    served.ask("PUT", f"automations/{patience['id']}", asked | {"enabled": True})

    def states() -> list[tuple[str, str]]:
        runs = served.post("flow_runs/filter", {"flow_runs": {"tags": {"all_": ["command"]}}})
        return sorted((run["state_type"], run["state_name"]) for run in runs)

    healthy = Command(tmp_path / "prefect", "120")
    healthy.begin()
    assert states() == [("RUNNING", "Running")]
    assert healthy.end() == (0, "result 5\n")
    assert states() == [("COMPLETED", "Completed")]
    killed = Command(tmp_path / "prefect", "600")
    killed.begin()
    killed.process.kill()
    killed.end()
    waited(lambda: states() == [("CANCELLED", "Crashed and ended"), ("COMPLETED", "Completed")])


@pytest.mark.nightly
def test_when_the_worker_ends_all_ends_with_a_message(served: Served) -> None:
    left = psutil.Process(served.process.pid).children(recursive=True)
    served.child("prefect worker start").kill()
    assert served.process.wait(60) != 0
    assert "the worker ended with status -9" in served.log.read_text()
    assert still_running(left, 60) == []


CANCELLED = StateType.CANCELLED
FILE = Path(__file__).parents[2] / "infra" / "deploy" / "automations.yaml"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[SyncPrefectClient]:
    """Return a client of a server that lasts: a private one runs no automation."""
    auth = "cosqa:of-a-test"
    with ExitStack() as stack:
        lay_database(tmp_path)
        stack.enter_context(temporary_settings({PREFECT_HOME: tmp_path}))
        bound = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = bound.getsockname()[1]
        server = server_process(
            bound, {**os.environ, "PREFECT_HOME": str(tmp_path), **settings_of_server(port, auth)}
        )
        stack.callback(server.wait)
        stack.callback(server.terminate)
        await_server(server, port, auth)
        stack.enter_context(using_server(api_address(port), auth))
        yield stack.enter_context(get_client(sync_client=True))


@pytest.mark.exhaustive
def test_a_crashed_run_is_started_again_with_its_input_and_only_once(
    client: SyncPrefectClient,
) -> None:
    for former in client.read_automations():
        client.delete_automation(former.id)
    _, end, restart = yaml.safe_load(FILE.read_text("utf-8"))["automations"]
    created = [
        client.create_automation(AutomationCore.model_validate(each)) for each in (end, restart)
    ]
    flow_id = client.create_flow_from_name("crashes")
    ours, other, theirs = (
        client.create_deployment(flow_id, name, tags=tags)
        for name, tags in (("ours", ["cosqa"]), ("other", ["cosqa"]), ("theirs", ["theirs"]))
    )

    def runs(deployment: UUID) -> list[FlowRun]:
        chosen = DeploymentFilter(id=DeploymentFilterId(any_=[deployment]))
        return client.read_flow_runs(
            deployment_filter=chosen, sort=FlowRunSort.EXPECTED_START_TIME_ASC
        )

    def crash(deployment: UUID, answers: dict[str, Any]) -> None:
        started = client.create_flow_run_from_deployment(deployment, parameters=answers)
        client.set_flow_run_state(started.id, Crashed(), force=True)

    answers = {"path": 'a "quoted" {{ path }}', "top_k": 5, "encoders": ["minilm"]}
    try:
        crash(ours, answers)
        until(lambda: len(runs(ours)) == 2)
        assert [run.parameters for run in runs(ours)] == [answers, answers]
        client.set_flow_run_state(runs(ours)[1].id, Crashed(), force=True)
        crash(theirs, {})
        crash(other, {})
        until(lambda: len(runs(other)) == 2)
        assert (len(runs(ours)), len(runs(theirs))) == (2, 1)
        # The type for which Prefect's server, where it is no private one, ends tasks and subflows.
        until(lambda: all(run.state_type == CANCELLED for run in runs(ours)))
        assert {run.state_name for run in runs(ours)} == {"Crashed and ended"}
        assert [run.state_name for run in runs(theirs)] == ["Crashed"]
    finally:
        for each in created:
            client.delete_automation(each)
