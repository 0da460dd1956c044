"""What ``make server`` starts, in a world of its own: server, deployments and worker."""

import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from tests.flows.world import COSQA, World
from tests.ports import free_port
from tests.prefect_api import ask
from tests.processes import still_running

START_S = 600.0
_END_S = 240.0  # Ray's agents look for a minute for the head of their cluster
_POLL_S = 1.0


@dataclass
class LocalSystem:
    """A running ``cosqa server`` and the world that its runs work in."""

    world: World
    port: int
    process: subprocess.Popen[bytes]

    @property
    def ui(self) -> str:
        """Address of the pages."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def password(self) -> str:
        """What the server asks for."""
        return (self.world.folder / "prefect" / "cosqa-auth").read_text()

    @property
    def log(self) -> str:
        """What the command has printed so far."""
        return log_file(self.world).read_text(encoding="utf-8", errors="replace")

    def ask(self, path: str, **filters: object) -> Any:
        """Return what the server's API answers to a request for objects."""
        return ask("POST", f"{self.ui}/api/{path}/filter", filters, self.password)

    def command(self, program: str, *arguments: str, **environment: str) -> str:
        """Run a command of ours or of Prefect's, as in another terminal; return what it prints."""
        if program == "prefect":  # our own commands find the password
            environment["PREFECT_API_AUTH_STRING"] = self.password
        place = World(self.world.folder, self.world.env | environment)
        path = str(Path(COSQA).with_name(program))
        done = place.finish_alone([path, *arguments])
        assert done.returncode == 0, done.stdout
        return done.stdout

    def schedule(self, deployment: str, ahead_s: float) -> datetime:
        """Schedule a deployment each day at the time that is so far ahead; return that time."""
        moment = (datetime.now(UTC) + timedelta(seconds=ahead_s)).replace(microsecond=0)
        self.command(
            *("prefect", "deployment", "schedule", "create", f"{deployment}/{deployment}"),
            *("--interval", "86400", "--anchor-date", moment.isoformat(), "--accept-yes"),
        )
        return moment

    def until(self, is_so: Callable[[], bool], seconds: float, awaited: str) -> None:
        """Wait until something is so; fail with the command's last lines if it does not come."""
        deadline = time.monotonic() + seconds
        while not is_so():
            assert self.process.poll() is None, f"the server has ended: {self.log[-3000:]}"
            assert time.monotonic() < deadline, f"{awaited}: not in {seconds} s\n{self.log[-3000:]}"
            time.sleep(_POLL_S)

    def until_a_run_is(self, deployment: str, states: Collection[str], seconds: float) -> None:
        """Wait until a run of a deployment has one of these states' names, by the API.

        Pages show it later, on a loaded machine too late for those who look and turn away.
        """
        of_it = {"deployments": {"name": {"any_": [deployment]}}}

        def states_now() -> list[str]:
            return [run["state_name"] for run in self.ask("flow_runs", **of_it)]

        try:
            self.until(lambda: bool({*states} & {*states_now()}), seconds, f"a run in {states}")
        except AssertionError as error:
            error.add_note(f"states of the runs of {deployment}: {states_now()}")
            raise

    def end(self) -> list[psutil.Process]:
        """Press Ctrl-C; return the processes that outlive the command."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.send_signal(signal.SIGINT)
        self.process.wait(_END_S)
        return still_running(children, _END_S)


def log_file(world: World) -> Path:
    """Return the file that has what the command prints."""
    return world.folder / "server.log"


@contextmanager
def local_system(world: World) -> Iterator[LocalSystem]:
    """Yield a running ``cosqa server``; what is left of it at the end is killed."""
    port = free_port()
    world.env |= {
        "PREFECT_HOME": str(world.folder / "prefect"),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
    }
    command = [COSQA, "server", "--port", str(port), "--folder", str(world.folder)]
    with log_file(world).open("wb") as out:
        process = subprocess.Popen(
            command, env=world.env, cwd=world.folder, stdout=out, stderr=subprocess.STDOUT
        )
    system = LocalSystem(world, port, process)
    try:
        system.until(lambda: "The UI is at" in system.log, START_S, "the server")
        yield system
    finally:
        if process.poll() is None:
            for child in system.end():
                child.kill()
