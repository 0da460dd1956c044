"""The Prefect server for a command's runs: the configured one, or a private one."""

import ctypes
import logging
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from urllib.parse import urlsplit

import httpx
import prefect
from prefect import tags
from prefect._internal.concurrency.threads import wait_for_global_loop_exit
from prefect.client.base import ServerType
from prefect.client.orchestration import get_client
from prefect.logging.handlers import APILogWorker, PrefectConsoleHandler
from prefect.settings import (
    PREFECT_API_AUTH_STRING,
    PREFECT_API_DATABASE_CONNECTION_URL,
    PREFECT_API_URL,
    PREFECT_CLIENT_MAX_RETRIES,
    PREFECT_HOME,
    PREFECT_SERVER_API_AUTH_STRING,
    PREFECT_SERVER_CORS_ALLOWED_ORIGINS,
    PREFECT_UI_URL,
    get_current_settings,
    temporary_settings,
)

from infra.errors import SettingsError
from infra.files import atomic_write, locked

PROGRAM = Path(__file__).parents[2]  # the folder of our packages, and of `prefect.yaml`

# Names of variables that hold secrets, and values that do: URLs with a user part.
_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|AUTH|(^|_)(PAT|PWD?|PASS)(_|$)", re.IGNORECASE
)
_SECRET_VALUE = re.compile(r"://[^/\s@]+@")
_OWN = "COSQA_"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_START_LOCK = "cosqa-start.lock"
_START_TIMEOUT_S = 300.0
_END_TIMEOUT_S = 10.0
_POLL_S = 0.1
_LONGEST_LOG = 10_000
_OWN_DATABASE = f"cosqa-{prefect.__version__}"
_LISTENS = "0A"  # of /proc/net/tcp
_PR_SET_PDEATHSIG = 1
_CONNECT_S, _READ_S = 1.0, 10.0
_PATH = (
    "correct the address, which ends with /api behind any path of the server's, or unset "
    "PREFECT_API_URL to use a private server"
)
_FOR_THE_UI = (
    "Beginning flow run", "Finished in state Completed(", "Finished in state Cached(",
    "Finished in state Cancelled(", "Finished in state Crashed('Execution was aborted",
    "Crash detected! Execution was aborted",
)  # fmt: skip
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_KEY = (
    "set PREFECT_API_AUTH_STRING or PREFECT_API_KEY as that server demands, or unset it; the "
    "password of `cosqa server`, which this user's own processes alone are sent, is in"
)


@contextmanager
def prefect_api(meanwhile: Callable[[], object] | None = None) -> Iterator[str]:
    """Yield the address of the Prefect API for the length of a ``with``.

    If ``PREFECT_API_URL`` is set, by environment or profile, that is the address; else that of this
    user's `cosqa server`, where one runs: two servers would lock one another's database. Otherwise
    a private server is started on loopback, which answers this process and its children alone. It
    uses the database of `cosqa server`, which shows the runs afterwards, and ends with this
    process.

    Args:
        meanwhile: Called while a private server starts, which takes seconds.

    Raises:
        SettingsError: The configured server does not answer, or the private one does not start.
    """
    meanwhile = meanwhile or (lambda: None)
    configured = PREFECT_API_URL.value()
    if not configured and (lasting := _lasting_api()):
        with using_server(*lasting), prefect_api(meanwhile) as url:
            yield url
    elif configured:
        with with_auth(configured):
            _require_answer(configured)
            meanwhile()
            with _of_a_command():
                yield configured
    else:
        with _private_api(meanwhile) as url:
            yield url


def _lasting_api() -> tuple[str, str] | None:
    """Return address and password of this user's `cosqa server`, None where none runs."""
    with suppress(OSError, ValueError, SettingsError):
        url = address_file().read_text("utf-8")
        auth, port = PREFECT_API_AUTH_STRING.value() or _read_auth(), urlsplit(url).port or 0
        if auth and _listeners(port) == {os.geteuid()} and is_private(port, auth):
            return url, auth
    return None


@contextmanager
def _private_api(meanwhile: Callable[[], object]) -> Iterator[str]:
    """Yield the address of the API of a private server, as `prefect_api` does."""
    auth = _new_auth()
    starting = ExitStack()  # two at once would both make the tables of a new database
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # a free port, which the server takes over
        port = int(bound.getsockname()[1])
        starting.enter_context(locked(PREFECT_HOME.value() / _START_LOCK))
        # What such a server says of itself, as of a database that was busy, is of use where it
        # does not start; requests are tried again.
        log = starting.enter_context(TemporaryFile())  # noqa: SIM115 - it is entered
        server = _start(bound, auth, log)
    url = api_address(port)
    try:
        meanwhile()
        try:
            await_server(server, port, auth)
        except SettingsError:
            log.seek(0)
            sys.stderr.write(log.read()[-_LONGEST_LOG:].decode("utf-8", "replace"))
            raise
        starting.close()
        # Prefect would log pages of a server that is gone when somebody looks.
        with using_server(url, auth), temporary_settings({PREFECT_UI_URL: ""}), _of_a_command():
            yield url
    finally:
        server.terminate()
        server.wait()
        starting.close()


@contextmanager
def using_server(url: str, auth: str) -> Iterator[None]:
    """Let this process and its children, such as Ray's workers, use a server in the ``with``."""
    ours = {"PREFECT_API_URL": url, "PREFECT_API_AUTH_STRING": auth}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        with temporary_settings({PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: auth}):
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def with_auth(url: str) -> AbstractContextManager[None]:
    """Send the password of `cosqa server` inside the ``with``, unless the user has set another.

    Only processes of this user on this machine get it: any other server is somebody else's.

    Raises:
        SettingsError: Others can read the file that has it.
    """
    place = urlsplit(url)
    if PREFECT_API_AUTH_STRING.value() or place.hostname not in _LOOPBACK:
        return nullcontext()
    with suppress(ValueError):  # no port, which who asks there tells
        if _listeners(place.port or 0) == {os.geteuid()} and (auth := _read_auth()):
            return using_server(url, auth)
    return nullcontext()


def _listeners(port: int) -> set[int]:
    """Return the users whose processes listen at a port, under any address of this machine.

    Linux alone says it; elsewhere nobody is known, and the user sets the password.
    """
    tables = [file.read_text() for file in Path("/proc/net").glob("tcp*")]
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    return {int(row[7]) for row in rows if row[3] == _LISTENS and row[1].endswith(f":{port:04X}")}


def auth_file() -> Path:
    """Return the file with the password of `cosqa server`, next to Prefect's database."""
    return Path(PREFECT_HOME.value()) / "cosqa-auth"


def address_file() -> Path:
    """Return the file with the address of a `cosqa server`, while it runs."""
    return auth_file().with_name("cosqa-address")


def server_auth() -> str:
    """Return the settings of `cosqa server`: the user's, else those new in the file.

    What has ever gone to a listener in a server's place is worth nothing to it afterwards.
    """
    if own := PREFECT_SERVER_API_AUTH_STRING.value():
        return str(own)
    auth = _new_auth()
    with atomic_write(auth_file()) as partial:
        partial.touch(mode=0o600)
        partial.write_text(auth, encoding="utf-8")
    return auth


def _new_auth() -> str:
    return f"cosqa:{secrets.token_urlsafe(32)}"


def _read_auth() -> str:
    """Return the password of `cosqa server`, empty where there is none."""
    try:
        with os.fdopen(os.open(auth_file(), os.O_RDONLY | os.O_NOFOLLOW)) as stream:
            state = os.fstat(stream.fileno())
            if state.st_uid == os.geteuid() and not state.st_mode & 0o077:
                return stream.read().strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    else:
        problem = "is another user's, or can be read by others"
    raise SettingsError(
        f"{auth_file()}, which has the password of `cosqa server`, {problem}: remove it, and start "
        "`cosqa server` again, which makes a new one"
    )


def settings_of_server(port: int, auth: str) -> dict[str, str]:
    """Return the settings of a server on loopback for those who have the password.

    Pages of other origins than its own get no answer, unless the user has named these origins. Its
    database is its own, unless the user has named another: all of a person's projects share
    ``prefect.db``, and each release of Prefect changes its tables.
    """
    home = PREFECT_HOME.value()
    shared, own = (f"sqlite+aiosqlite:///{home}/{name}.db" for name in ("prefect", _OWN_DATABASE))
    is_shared = PREFECT_API_DATABASE_CONNECTION_URL.value() == shared
    origins = f"http://127.0.0.1:{port},http://localhost:{port}"
    if (more := PREFECT_SERVER_CORS_ALLOWED_ORIGINS.value()) != "*":
        origins += f",{more}"
    return {
        "PREFECT_SERVER_API_BASE_PATH": "/api",  # as in `api_address`
        "PREFECT_SERVER_API_AUTH_STRING": auth,
        "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": origins,
        **({"PREFECT_SERVER_DATABASE_CONNECTION_URL": own} if is_shared else {}),
    }


def api_address(port: int) -> str:
    """Return the address of the API of a server on this machine."""
    return f"http://127.0.0.1:{port}/api"


def _require_answer(url: str) -> None:
    """Check that Prefect's API answers at an address, also one below another path.

    Raises:
        SettingsError: It does not, or takes no request of this user.
    """
    settings = {"timeout": httpx.Timeout(_READ_S, connect=_CONNECT_S)}
    try:
        with (
            temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}),
            get_client(httpx_settings=settings, sync_client=True) as client,
        ):
            if client.request("GET", "/health").json() is not True:
                raise ValueError("what answers is not Prefect's API")  # noqa: TRY301
            if client.server_type != ServerType.CLOUD:
                client.api_version()  # everybody may ask for its health
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        advice = f"{_KEY} {auth_file()}" if status in _REFUSED else _PATH
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            advice = "it is busy or out of order for now: try again soon, and see its own log"
        raise SettingsError(f"{url} (PREFECT_API_URL) answers {status}: {advice}") from None
    except (httpx.TransportError, httpx.InvalidURL, ValueError) as error:
        raise SettingsError(
            f"no Prefect server answers at {url} (PREFECT_API_URL): start it with "
            f"`prefect server start`, or {_PATH} ({type(error).__name__}: {error})"
        ) from None


def _is_for_terminals(record: logging.LogRecord) -> bool:
    """Return True if a line of a run's log is for who has typed its command, not for the UI alone.

    A crash by a signal is none: the command says itself that it was stopped.
    """
    return not record.getMessage().startswith(_FOR_THE_UI)


@contextmanager
def _of_a_command() -> Iterator[None]:
    """Label runs as a command's, and end Prefect's background threads here instead of at exit."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, PrefectConsoleHandler):
            handler.addFilter(_is_for_terminals)
    try:
        with tags("command"):
            yield
    finally:
        APILogWorker.drain_all(timeout=_END_TIMEOUT_S)
        wait_for_global_loop_exit(timeout=_END_TIMEOUT_S)


def _start(bound: socket.socket, auth: str, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start the server at a socket; it answers those who send ``auth``."""
    environment = (
        without_secrets(os.environ)
        | get_current_settings().to_environment_variables(exclude_unset=True)
        | {
            "PREFECT_SERVER_UI_ENABLED": "false",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT__SERVER_EPHEMERAL": "1",
            # They are the lasting server's, which acts on what it has heard itself.
            "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
        }
        | settings_of_server(bound.getsockname()[1], auth)
    )
    return server_process(bound, environment, log)


def server_process(
    bound: socket.socket, environment: Mapping[str, str], log: IO[bytes] | None = None
) -> subprocess.Popen[bytes]:
    """Start a server at a socket on loopback, with these settings.

    Not in the working folder, which Prefect's migrations put before all modules. Its messages go to
    the terminal where there is no file for them.
    """
    number = bound.fileno()
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-P", "-m", "flows.runtime.loopback_server", str(number)],
        env={**environment, "PREFECT__SERVER_FINAL": "1"},
        cwd=PROGRAM,
        pass_fds=[number],
        stdout=log,
        stderr=log,
        start_new_session=True,  # a Ctrl-C must not end it before the runs that tell it their end
        preexec_fn=die_with_parent,  # noqa: PLW1509
    )


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without secrets that a Prefect server has no use for.

    Keys of providers go, and all of this program's settings, since a section may hold a key as
    JSON. The server's own settings stay, such as the password of its database.
    """
    return {
        name: value
        for name, value in environment.items()
        if name.startswith("PREFECT_")
        or not (
            name.upper().startswith(_OWN)
            or _SECRET_NAME.search(name)
            or _SECRET_VALUE.search(value)
        )
    }


def die_with_parent() -> None:
    """Make Linux end the server when this process ends, even by ``kill -9``."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def await_server(server: subprocess.Popen[bytes], port: int, auth: str) -> None:
    """Wait until a server that was started on this machine answers those who send ``auth``.

    Raises:
        SettingsError: It ends, or is not ready in time.
    """
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline and server.poll() is None:
        if is_private(port, auth):
            return
        time.sleep(_POLL_S)
    raise SettingsError(
        "the Prefect server did not start (see its messages above). Its database is that of "
        f"PREFECT_API_DATABASE_CONNECTION_URL, or {_OWN_DATABASE}.db in {PREFECT_HOME.value()}, "
        "which has nothing but the history of runs: move it away, or set PREFECT_HOME to another "
        "folder"
    )


def is_private(port: int, auth: str) -> bool:
    """Return True if the server answers those who send ``auth``, and refuses others.

    Everybody may ask for its health, so it is asked for its version.
    """
    refused = _status(port, "/api/admin/version") == HTTPStatus.UNAUTHORIZED
    return refused and _status(port, "/api/admin/version", auth) == HTTPStatus.OK


def _status(port: int, path: str, auth: str = "") -> int:
    """Return the status of an answer, 0 for none; certificates would be loaded each time."""
    user, _, password = auth.partition(":")
    try:
        answer = httpx.get(
            f"http://127.0.0.1:{port}{path}", auth=(user, password) if auth else None,
            timeout=30.0, trust_env=False, verify=False,  # noqa: S501 - plain HTTP
        )  # fmt: skip
    except httpx.TransportError:
        return 0
    return answer.status_code
