"""A Prefect server and a worker as children of this process, started again when they die."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.runtime.prefect_server import (
    api_address,
    await_server,
    die_with_parent,
    is_healthy,
    without_secrets,
)
from infra.errors import SettingsError

_POLL_S = 0.5
_PAUSE_S = 2.0
_END_TIMEOUT_S = 30.0
# So often in a row may a child die within a minute: then something is wrong that lasts.
_DEATHS, _SHORT_LIFE_S = 5, 60.0
# Leases of Prefect's own slots survive the server; of the two UIs that Prefect serves, the first
# one shows "Resume" beside a run's name.
_SERVER = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
        "prefect.server.concurrency.lease_storage.filesystem"
    ),
}


@dataclass
class _Child:
    """A child process with the command that starts it."""

    name: str
    command: list[str]
    environment: Mapping[str, str]
    folder: Path
    tell: Callable[[str], None]
    process: subprocess.Popen[bytes] | None = None
    deaths: list[float] = field(default_factory=list)

    def start(self) -> subprocess.Popen[bytes]:
        """Start it and return its process."""
        # A session of its own: Ctrl-C reaches this process alone, which ends its children in order.
        self.process = subprocess.Popen(  # noqa: S603
            self.command, env=dict(self.environment), cwd=self.folder, start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509
        )  # fmt: skip
        return self.process

    @property
    def has_died(self) -> bool:
        """Whether it was started and runs no more."""
        return self.process is not None and self.process.poll() is not None

    def revive(self) -> None:
        """Start it again if it has died.

        Raises:
            SettingsError: It dies again and again.
        """
        if self.process is None or not self.has_died:
            return
        now = time.monotonic()
        self.deaths = [moment for moment in self.deaths if now - moment < _SHORT_LIFE_S] + [now]
        if len(self.deaths) >= _DEATHS:
            raise SettingsError(
                f"the {self.name} has died {_DEATHS} times within a minute (see its messages above)"
            )
        self.tell(f"the {self.name} ended with status {self.process.returncode}: starting it again")
        time.sleep(_PAUSE_S)
        self.start()

    def end(self) -> None:
        """End it if it runs, by force if need be."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGINT if self.name == "worker" else signal.SIGTERM)
        try:
            self.process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@dataclass
class LocalServer:
    """A running server, to which a worker can be added.

    Attributes:
        api: Address of its API.
    """

    api: str
    _port: int
    _server: _Child
    _worker: _Child

    def watch(self) -> None:
        """Start the worker, and again what dies, until a signal ends this process.

        Raises:
            SettingsError: Server or worker dies again and again.
        """
        self._worker.start()
        while True:
            self.revive()
            time.sleep(_POLL_S)

    def revive(self) -> None:
        """Start again what has died; the worker once the server answers, else it would die again.

        Raises:
            SettingsError: Server or worker dies again and again.
        """
        self._server.revive()
        if self._worker.has_died and is_healthy(self._port):
            self._worker.revive()


@contextmanager
def local_server(
    port: int, folder: Path, pool: str, tell: Callable[[str], None]
) -> Iterator[LocalServer]:
    """Yield a Prefect server on loopback for the length of a ``with``; its worker ends with it.

    SIGINT and SIGTERM end the ``with`` quietly.

    Args:
        port: Its port.
        folder: Folder in which the worker works.
        pool: The worker's pool.
        tell: Called with what a person should know.

    Raises:
        SettingsError: The port is taken, or the server does not start.
    """
    _require_free(port)
    api = api_address(port)
    prefect = [sys.executable, "-m", "prefect"]
    server = _Child(
        "server",
        [*prefect, "server", "start", "--host", "127.0.0.1", "--port", str(port)],
        without_secrets(os.environ) | _SERVER | {"PREFECT_API_URL": api},
        folder,
        tell,
    )
    worker = _Child(
        "worker",
        [*prefect, "worker", "start", "--pool", pool, "--type", "process"],
        dict(os.environ) | {"PREFECT_API_URL": api},
        folder,
        tell,
    )
    with _until_a_signal(), ExitStack() as ending:
        ending.callback(server.end)
        ending.callback(worker.end)
        try:
            await_server(server.start(), lambda: is_healthy(port))
            with temporary_settings({PREFECT_API_URL: api}):
                yield LocalServer(api, port, server, worker)
        except _EndedError:
            tell("ending the worker and the server")


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise SettingsError(
                f"something answers on port {port} of this machine already, perhaps an earlier "
                "`cosqa server`: end it, or choose another port with --port"
            )


class _EndedError(Exception):
    """A signal asked this process to end."""


@contextmanager
def _until_a_signal() -> Iterator[None]:
    """End the ``with`` without an error at SIGINT or SIGTERM.

    Further ones change nothing, also while what was entered inside is left.
    """

    def end(_number: int, _frame: FrameType | None) -> None:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        raise _EndedError

    signal.set_wakeup_fd(-1)  # of the command line, which gives its commands seconds to end
    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except _EndedError:
        pass
    finally:
        for former, handler in before.items():
            signal.signal(former, handler)
