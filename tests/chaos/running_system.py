"""A chaos run: the run itself, the services around it, and what is to happen later."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.chaos.services import Disk, Service, children_of
from tests.processes import is_running, still_running
from tests.sandbox.own_engine import OwnEngine

_LOOK_S = 0.5


class Run:
    """A command of the product in a process group of its own, as from a terminal.

    Args:
        command: The command line.
        env: Its environment.
        folder: Its working directory.
        log: Where its output goes, after what is there.
    """

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], folder: Path, log: Path
    ) -> None:
        self.log = log
        self._printed_before = log.stat().st_size if log.exists() else 0
        with log.open("ab") as out:
            self._process = psutil.Popen(
                command, env=dict(env), cwd=folder, stdout=out, stderr=out, start_new_session=True
            )
        self.started = time.monotonic()
        self._seen: dict[int, psutil.Process] = {}
        self._look_at = 0.0

    def poll(self) -> int | None:
        """Return its exit status once it has ended; remember which processes it has started."""
        if time.monotonic() >= self._look_at:
            self.processes()
            self._look_at = time.monotonic() + _LOOK_S
        status: int | None = self._process.poll()
        return status

    def wait(self, timeout_s: float = 600.0) -> int | None:
        """Return its exit status, or None where it has not ended in so many seconds."""
        deadline = time.monotonic() + timeout_s
        while (status := self.poll()) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return status

    def processes(self) -> list[psutil.Process]:
        """Return all processes that it has started and that run."""
        self._seen |= {one.pid: one for one in children_of(self._process.pid)}
        return [one for one in self._seen.values() if is_running(one)]

    def send(self, number: signal.Signals) -> bool:
        """Send it a signal: to the whole group where a terminal would; return whether it runs."""
        if self._process.poll() is not None:
            return False
        self.processes()
        if number == signal.SIGINT:
            os.killpg(self._process.pid, number)
        else:
            self._process.send_signal(number)
        return True

    def kill_all(self) -> None:
        """End it and all that it has started by SIGKILL."""
        end_all(self.processes())
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def printed(self) -> str:
        """Return what it has printed."""
        with self.log.open("rb") as file:
            file.seek(self._printed_before)
            return file.read().decode(errors="replace")


@dataclass
class RunningSystem:
    """A run, and what is around it.

    Attributes:
        start_run: Starts the run anew, given the name of its log.
        model: The scripted model.
        calls: The model's own log of requests.
        prefect: Prefect's server.
        disk: The store's disk.
        engine: A Docker engine of its own; None where only the machine's can be had.
    """

    start_run: Callable[[str], Run]
    model: Service
    calls: Path
    prefect: Service
    disk: Disk
    engine: OwnEngine | None
    runs: list[Run] = field(default_factory=list)
    rivals: list[Run] = field(default_factory=list)
    _read: int = 0
    _calls: int = 0
    _due: list[tuple[float, Callable[[], object]]] = field(default_factory=list)

    @property
    def run(self) -> Run:
        """The run that goes on, or the last one."""
        return self.runs[-1]

    def start(self) -> Run:
        """Start the run anew."""
        self.runs.append(self.start_run("run"))
        return self.run

    def start_rival(self) -> None:
        """Start the same command beside the run."""
        self.rivals.append(self.start_run("rival"))

    def model_calls(self) -> int:
        """Return how many requests the model has got."""
        if self.calls.exists():
            with self.calls.open("rb") as file:
                file.seek(self._read)
                new = file.read()
            self._read += len(new)
            self._calls += new.count(b"\n")
        return self._calls

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Do something in so many seconds."""
        self._due.append((time.monotonic() + seconds, action))

    def do_due(self, *, all_of_it: bool = False) -> None:
        """Do what is due, or all that is to come."""
        now = time.monotonic()
        due = [action for at, action in self._due if all_of_it or at <= now]
        self._due = [(at, action) for at, action in self._due if not (all_of_it or at <= now)]
        for action in due:
            action()

    def processes_left(self, wait_s: float) -> list[psutil.Process]:
        """Return what runs and rivals have started and what has not ended in so many seconds."""
        started = [one for run in (*self.runs, *self.rivals) for one in run.processes()]
        return still_running(started, wait_s)

    def end(self) -> None:
        """End what is left of it, by process id."""
        for run in (*self.runs, *self.rivals):
            run.kill_all()


def end_all(processes: Iterable[psutil.Process]) -> None:
    """End processes by SIGKILL; some may have ended."""
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
