"""Runs of a deployment: `cosqa server` with its worker, and a run that a schedule would start."""

import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.chaos.running_system import end_all
from tests.chaos.services import Service, children_of
from tests.flows.world import COSQA
from tests.processes import is_running

_READY = "The UI is at"
_READY_S = 180.0
_ASK_S = 0.5
_ENDED = {"COMPLETED": 0, "FAILED": 1, "CRASHED": 1, "CANCELLED": 1}


class CosqaServer(Service):
    """``cosqa server``: a Prefect server, the deployments and a worker, which it starts again.

    Args:
        folder: Where runs work, and where its log is.
        port: The server's port.
        env: Environment of server, worker and runs.
    """

    def __init__(self, folder: Path, port: int, env: Mapping[str, str]) -> None:
        command = [COSQA, "server", "--port", str(port), "--folder", str(folder)]
        self.log = folder / "server.log"
        self.api = f"http://127.0.0.1:{port}/api"
        super().__init__(command, env, self.log)

    def start(self) -> None:
        """Start it, unless it runs, and wait until its worker is started."""
        if self.is_running():
            return
        before = self.log.stat().st_size if self.log.exists() else 0
        super().start()
        deadline = time.monotonic() + _READY_S
        while _READY not in self.log.read_text()[before:]:
            is_alive = self.is_running() and time.monotonic() < deadline
            assert is_alive, self.log.read_text()[-3000:]
            time.sleep(0.2)

    def kill(self) -> None:
        """End it and all below it by SIGKILL, as a loss of power would."""
        below = children_of(self.pid) if self.is_running() else []
        super().kill()
        end_all(below)

    def kill_child(self, words: str) -> bool:
        """Kill the process below it whose command has these words; return whether there is one."""
        for one in children_of(self.pid):
            if words in " ".join(_command(one)):
                one.kill()
                return True
        return False

    def ask(self, method: str, path: str, content: object = None) -> Any:
        """Return the API's answer, None where it does not answer."""
        try:
            answer = httpx.request(method, f"{self.api}/{path}", json=content, timeout=10)
            return answer.raise_for_status().json()
        except httpx.HTTPError:
            return None


class DeployedRun:
    """A run of the deployment ``annotate``; `tests.chaos.running_system.Run` says what it can do.

    Args:
        server: Where it runs.
        parameters: Answers to the deployment's form.
    """

    def __init__(self, server: CosqaServer, parameters: Mapping[str, object]) -> None:
        self._server = server
        self.log = server.log
        self._printed_before = self.log.stat().st_size
        self.started = time.monotonic()
        self._seen: dict[int, psutil.Process] = {}
        self._ask_at = 0.0
        self._status: int | None = None
        self._id = self._created(parameters)

    def poll(self) -> int | None:
        """Return 0 once it has completed, 1 once it has ended otherwise."""
        if self._status is None and time.monotonic() >= self._ask_at:
            self._ask_at = time.monotonic() + _ASK_S
            self.processes()
            told = self._server.ask("GET", f"flow_runs/{self._id}") or {}
            self._status = _ENDED.get(told.get("state_type", ""))
        return self._status

    def wait(self, timeout_s: float = 600.0) -> int | None:
        """Return how it ended, or None where it has not in so many seconds."""
        deadline = time.monotonic() + timeout_s
        while (status := self.poll()) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return status

    def processes(self) -> list[psutil.Process]:
        """Return all processes that run for it: the flow's and what is below that."""
        for flow in self._flows():
            self._seen |= {one.pid: one for one in (flow, *children_of(flow.pid))}
        return [one for one in self._seen.values() if is_running(one)]

    def send(self, number: signal.Signals) -> bool:
        """Send the flow's process a signal; return whether there is one."""
        self.processes()
        for flow in self._flows():
            flow.send_signal(number)
            return True
        return False

    def kill_all(self) -> None:
        """End its processes by SIGKILL."""
        end_all(self.processes())

    def printed(self) -> str:
        """Return what server, worker and run have printed since its start."""
        return self.log.read_bytes()[self._printed_before :].decode(errors="replace")

    def _created(self, parameters: Mapping[str, object]) -> str:
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            if found := self._server.ask("GET", "deployments/name/annotate/annotate"):
                made = self._server.ask(
                    "POST", f"deployments/{found['id']}/create_flow_run",
                    {"parameters": dict(parameters), "state": {"type": "SCHEDULED"}},
                )  # fmt: skip
                if made:
                    return str(made["id"])
            time.sleep(1)
        raise AssertionError(f"no run could be started in {_READY_S:.0f} s")

    def _flows(self) -> list[psutil.Process]:
        """Return the flows' processes below the worker."""
        return [
            one
            for one in children_of(self._server.pid)
            if {"prefect.engine", "flow-run"} & set(_command(one))
        ]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
