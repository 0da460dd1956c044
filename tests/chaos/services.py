"""The processes around a run: the model, Prefect's server, a Docker engine and a disk.

Each can be broken and comes back; what is ended is known by its process id.
"""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import psutil

_START_S = 120.0


class Service:
    """A process with its children, to be killed and started again.

    Args:
        command: Its command line.
        env: Its environment.
        log: Where its output goes.
        address: What answers by HTTP once it is up.
    """

    def __init__(
        self, command: list[str], env: Mapping[str, str], log: Path, address: str = ""
    ) -> None:
        self._command, self._env, self._log, self._address = command, dict(env), log, address
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process's id."""
        assert self._process is not None
        return self._process.pid

    def is_running(self) -> bool:
        """Return whether its process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, in a group of its own, and wait until it answers; nothing where it runs."""
        if self.is_running():
            return
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env=self._env, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + _START_S
        while self._address and not _answers(self._address):
            is_alive = self._process.poll() is None and time.monotonic() < deadline
            assert is_alive, self._log.read_text()[-3000:]
            time.sleep(0.05)

    def kill(self) -> None:
        """End it and all of its group by SIGKILL."""
        if self.is_running():
            assert self._process is not None
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def model_server(script: Path, calls: Path, port: int, env: Mapping[str, str]) -> Service:
    """Return the scripted model as a process; it writes each request to a file, then answers."""
    command = [
        sys.executable, "-m", "tests.fakes.llm_server",
        "--script", str(script), "--log", str(calls), "--port", str(port),
    ]  # fmt: skip
    log = calls.with_name("model.log")
    return Service(command, env, log, f"http://127.0.0.1:{port}/")


def prefect_server(home: Path, port: int, env: Mapping[str, str]) -> Service:
    """Return a Prefect server over a SQLite database in a folder."""
    command = [
        sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1",
        "--port", str(port),
    ]  # fmt: skip
    own = {
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
    }
    log = home / "server.log"
    home.mkdir(parents=True, exist_ok=True)
    return Service(command, {**env, **own}, log, f"http://127.0.0.1:{port}/api/health")


def _answers(address: str) -> bool:
    """Return whether anything speaks HTTP there, if only to say that there is nothing."""
    try:
        with urllib.request.urlopen(address, timeout=2):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


class Disk:
    """A disk of its own for the store, in memory, which can be filled; only root can mount one.

    Args:
        folder: Where it is mounted.
        megabytes: Its size.
    """

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        self._filler = folder / "filler"
        self._size = f"size={megabytes}m"
        self._is_mounted = False

    def mount(self) -> None:
        """Mount it where that is allowed; elsewhere the folder is one like any other."""
        self.folder.mkdir(parents=True)
        command = ["mount", "-t", "tmpfs", "-o", self._size, "chaos", str(self.folder)]
        done = subprocess.run(command, capture_output=True, check=False)
        self._is_mounted = done.returncode == 0

    def fill(self) -> None:
        """Leave no byte free."""
        with self._filler.open("ab", buffering=0) as file:
            for size in (2**20, 4096, 1):
                try:
                    while file.write(b"x" * size) == size:
                        pass
                except OSError:
                    continue

    def empty(self) -> None:
        """Make room again."""
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount it."""
        if self._is_mounted:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)


def children_of(pid: int) -> list[psutil.Process]:
    """Return all processes below one, none where it has ended."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
