"""The Prefect server for a command's runs: the configured one, or a private one."""

import ctypes
import http.client
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus

import httpx
from prefect._internal.concurrency.threads import wait_for_global_loop_exit
from prefect.client.orchestration import get_client
from prefect.logging.handlers import APILogWorker
from prefect.settings import (
    PREFECT_API_TLS_INSECURE_SKIP_VERIFY,
    PREFECT_API_URL,
    get_current_settings,
    temporary_settings,
)

from infra.errors import SettingsError

USUAL_PORT = 4200
_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
_START_TIMEOUT_S = 120.0
_END_TIMEOUT_S = 10.0
_POLL_S = 0.1
_PR_SET_PDEATHSIG = 1


@contextmanager
def prefect_api(meanwhile: Callable[[], object] | None = None) -> Iterator[str]:
    """Yield the address of the Prefect API for the length of a ``with``.

    If ``PREFECT_API_URL`` is set, by environment or profile, that is the address. Otherwise a
    private server is started on loopback. It uses Prefect's own database, so that ``prefect server
    start`` shows the runs afterwards, and ends with this process.

    Args:
        meanwhile: Called while a private server starts, which takes seconds.

    Raises:
        SettingsError: The configured server does not answer, or the private one does not start.
    """
    meanwhile = meanwhile or (lambda: None)
    configured = PREFECT_API_URL.value()
    if configured:
        _require_answer(configured)
        meanwhile()
        with _threads_flushed():
            yield configured
        return
    port = _free_port()
    url = api_address(port)
    server = _start(port)
    try:
        meanwhile()
        await_health(server, port)
        os.environ["PREFECT_API_URL"] = url  # Ray's workers inherit it
        # Each client would load all of the system's certificates, which plain HTTP does not use.
        settings = {PREFECT_API_URL: url, PREFECT_API_TLS_INSECURE_SKIP_VERIFY: True}
        with temporary_settings(settings), _address_not_logged(), _threads_flushed():
            yield url
    finally:
        os.environ.pop("PREFECT_API_URL", None)
        server.terminate()
        server.wait()


@contextmanager
def running_server() -> Iterator[str]:
    """Yield the address of a Prefect server that runs already, for the length of a ``with``.

    It is the one of ``PREFECT_API_URL``, else the one at Prefect's usual address on this machine.

    Raises:
        SettingsError: None answers.
    """
    configured = PREFECT_API_URL.value()
    if configured:
        _require_answer(configured)
        yield configured
        return
    if not is_healthy(USUAL_PORT):
        raise SettingsError(
            f"no Prefect server answers at {api_address(USUAL_PORT)}: start one with `make "
            "server`, or set PREFECT_API_URL to the address of yours"
        )
    with temporary_settings({PREFECT_API_URL: api_address(USUAL_PORT)}):
        yield api_address(USUAL_PORT)


def api_address(port: int) -> str:
    """Return the address of the API of a server on this machine."""
    return f"http://127.0.0.1:{port}/api"


def _require_answer(url: str) -> None:
    with get_client(sync_client=True) as client:
        problem = client.api_healthcheck()
    if isinstance(problem, httpx.TransportError):
        raise SettingsError(
            f"no Prefect server answers at {url} (PREFECT_API_URL): start it with "
            "`prefect server start`, or unset PREFECT_API_URL to use a private one"
        )


@contextmanager
def _address_not_logged() -> Iterator[None]:
    """Keep Prefect from logging pages of a private server, which is gone when somebody looks."""

    def is_no_address(record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith("View at ")

    logger = logging.getLogger("prefect.flow_runs")
    logger.addFilter(is_no_address)
    try:
        yield
    finally:
        logger.removeFilter(is_no_address)


@contextmanager
def _threads_flushed() -> Iterator[None]:
    """Flush and end Prefect's background threads at the end of a ``with``, not at exit."""
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
        without_secrets(os.environ)
        | get_current_settings().to_environment_variables(exclude_unset=True)
        | {
            "PREFECT_SERVER_UI_ENABLED": "false",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT__SERVER_EPHEMERAL": "1",
            "PREFECT__SERVER_FINAL": "1",
        }
    )
    return subprocess.Popen(command, env=environment, preexec_fn=die_with_parent)  # noqa: S603, PLW1509


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the keys of providers, which a Prefect server does not need.

    Its own settings stay, such as the password of its database.
    """
    return {
        name: value
        for name, value in environment.items()
        if name.startswith("PREFECT_") or not any(word in name.upper() for word in _SECRET)
    }


def die_with_parent() -> None:
    """Make Linux end the server when this process ends, even by ``kill -9``."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def await_health(server: subprocess.Popen[bytes], port: int) -> None:
    """Wait until a server that was started on this machine answers.

    Raises:
        SettingsError: It ends, or does not answer in time.
    """
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline and server.poll() is None:
        if is_healthy(port):
            return
        time.sleep(_POLL_S)
    raise SettingsError(
        "the Prefect server did not start (see its messages above); start one with `prefect "
        "server start` and set PREFECT_API_URL to its address"
    )


def is_healthy(port: int) -> bool:
    """Return whether the server answers; httpx would load certificates each time."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5.0)
    try:
        connection.request("GET", "/api/health")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
