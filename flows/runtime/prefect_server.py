"""The Prefect server that runs report to: the configured one, or a private one for this command."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from prefect._internal.concurrency.threads import wait_for_global_loop_exit
from prefect.logging.handlers import APILogWorker
from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings

from infra.errors import SettingsError

_START_TIMEOUT_S = 120.0
_END_TIMEOUT_S = 10.0
_PR_SET_PDEATHSIG = 1


@contextmanager
def prefect_api() -> Iterator[str]:
    """Give the address of the Prefect API for the length of a ``with``.

    With ``PREFECT_API_URL`` set (by environment or profile), it is that. Otherwise a server is
    started on loopback over Prefect's own database, so that ``prefect server start`` shows the
    runs afterwards. It dies with this process, however that ends.

    Raises:
        SettingsError: The private server does not start.
    """
    configured = PREFECT_API_URL.value()
    if configured:
        with _background_ended():
            yield configured
        return
    port = _free_port()
    url = f"http://127.0.0.1:{port}/api"
    server = _start(port)
    try:
        _await_health(server, url)
        os.environ["PREFECT_API_URL"] = url  # Ray's workers inherit it
        with temporary_settings({PREFECT_API_URL: url}), _background_ended():
            yield url
    finally:
        os.environ.pop("PREFECT_API_URL", None)
        server.terminate()
        server.wait()


@contextmanager
def _background_ended() -> Iterator[None]:
    """Have Prefect's threads send what they hold, and end; killed at exit, they spoil others."""
    try:
        yield
    finally:
        APILogWorker.drain_all(timeout=_END_TIMEOUT_S)
        wait_for_global_loop_exit(timeout=_END_TIMEOUT_S)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(port: int) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-m", "uvicorn", "--factory", "prefect.server.api.server:create_app",
        "--host", "127.0.0.1", "--port", str(port), "--log-level", "error", "--lifespan", "on",
    ]  # fmt: skip
    environment = (
        dict(os.environ)
        | get_current_settings().to_environment_variables(exclude_unset=True)
        | {
            "PREFECT_SERVER_UI_ENABLED": "false",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT__SERVER_EPHEMERAL": "1",
            "PREFECT__SERVER_FINAL": "1",
        }
    )
    return subprocess.Popen(command, env=environment, preexec_fn=_die_with_parent)  # noqa: S603, PLW1509


def _die_with_parent() -> None:
    """Have Linux end the server when this process is gone, even by ``kill -9``."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _await_health(server: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            if httpx.get(f"{url}/health", timeout=5.0).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise SettingsError(
        "the private Prefect server did not start (its messages are above); start one with "
        "`prefect server start` and set PREFECT_API_URL to its address"
    )
