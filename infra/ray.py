"""The Ray runtime: a cluster when an address is given, else one on this machine."""

import atexit
import logging
import os
import secrets
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from infra.errors import RayStartError, SettingsError, WorkerLostError
from infra.secrets import without_own_keys
from infra.settings import RaySettings

# Ray's own switches: no usage report over the network, no rewriting of CUDA_VISIBLE_DEVICES for
# work that asks for no GPU, no stack on the terminal in place of what a signal's handler does, and
# workers of normal priority: at Ray's 15 an encoder has a third of its speed as soon as anything
# else runs.
_SWITCHES = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DISABLE_FAILURE_SIGNAL_HANDLER": "1",
    "RAY_worker_niceness": "0",
}

# Prefect's: what our libraries log in a worker's run stands in that run's log, all else in Ray's.
_LOGGING = {
    "PREFECT_LOGGING_EXTRA_LOGGERS": "agents,sandbox,infra",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
}

_FOLDERS = "cosqa-ray-"  # what the names of local clusters' folders begin with
_RANDOM = 8  # characters that `mkdtemp` adds
_INNER = "ray"
_starting = threading.Lock()
_LONGEST_FOLDER = 36  # characters: Linux takes 107 for a socket, and Ray adds 70

_PATIENCE_S = 1.0
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")  # of HTTP/2
_THIS_MACHINE = (None, "localhost", "127.0.0.1", "::1", "0.0.0.0")  # noqa: S104 - as a client's address

_log = logging.getLogger(__name__)


@contextmanager
def signals_as_raised() -> Iterator[None]:
    """Raise what a signal's handler raises while Ray waits, such as Prefect's TerminationSignal.

    Ray's compiled code makes a SystemError of what it does not expect.
    """
    try:
        yield
    except SystemError as error:
        raise error.__cause__ or error from None


@contextmanager
def translate_ray_errors(lost: str) -> Iterator[None]:
    """Raise errors of remote work as they were raised there, and the loss of a process as ours.

    Args:
        lost: Message of the ``WorkerLostError``, with ``{}`` for Ray's account.
    """
    from ray.exceptions import RayError, RayTaskError  # noqa: PLC0415 - see `ensure_ray`

    try:
        with signals_as_raised():
            yield
    except RayTaskError as error:
        raise error.cause from error
    except RayError as error:
        raise WorkerLostError(lost.format(error)) from error


def ensure_ray(settings: RaySettings) -> None:
    """Connect this process to Ray, unless it is connected; Ray disconnects when the process ends.

    Without an address a cluster is started here, closed to others: it listens on the
    loopback interface and takes work only with its token, and none of its processes has the keys of
    our settings in its environment. Its folder of sockets and logs goes with this process.

    Raises:
        SettingsError: The cluster does not answer.
        RayStartError: None starts here, tried again.
    """
    for name, value in (_SWITCHES | _LOGGING).items():
        os.environ.setdefault(name, value)
    import ray  # noqa: PLC0415 - takes a second, and a run without work needs none of it

    with _starting:  # stages side by side may want it at the same time
        if not ray.is_initialized():
            _connect(ray, settings)


def start_workers(settings: RaySettings, most: int, first: Callable[[], object]) -> None:
    """Connect this process to Ray, and let workers, one a core at most, call a function.

    Nothing waits for them: later work finds what the function's module imports.

    Args:
        settings: The cluster.
        most: How many workers; none leaves Ray alone.
        first: What they call.

    Raises:
        SettingsError: The cluster does not answer.
    """
    if not most:
        return
    ensure_ray(settings)
    import ray  # noqa: PLC0415 - see `ensure_ray`

    call = ray.remote(num_cpus=1)(first)
    cores: float = ray.cluster_resources().get("CPU", 0)  # type: ignore[no-untyped-call]
    for _ in range(min(most, int(cores))):
        call.remote()


def _connect(ray: ModuleType, settings: RaySettings) -> None:
    from ray.exceptions import AuthenticationError  # noqa: PLC0415 - see `ensure_ray`
    from ray.job_config import JobConfig  # noqa: PLC0415 - see `ensure_ray`

    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if not (settings.address or "").startswith("ray://"):  # as Ray's client has it by itself
        # Else Ray would put the working folder before all modules of its workers.
        options["job_config"] = JobConfig(_client_job=True)
    if settings.address:
        options |= {"address": settings.address, "runtime_env": {"env_vars": _LOGGING}}
    else:
        _restrict_access()
        options |= {
            "address": "local",  # never another one that runs on this machine
            "num_cpus": settings.cpus,
            "num_gpus": settings.gpus,
            "object_store_memory": settings.object_store_mb * 1024 * 1024,
            "include_dashboard": False,
            "_temp_dir": str(_own_folder(ray.shutdown)),
        }
    init = partial(ray.init, **options)
    if not settings.address:
        return _start_here(init, ray.shutdown)
    try:
        _require_answer(settings.address)
        with without_own_keys():
            _call_in_lasting_thread(init)
    except (OSError, ValueError, AuthenticationError) as error:
        raise SettingsError(
            f"no Ray cluster answers at {settings.address}; start one there, or unset RAY_ADDRESS "
            f"to use this machine ({str(error)[:300]})"
        ) from error


def _start_here(init: Callable[[], object], shut_down: Callable[[], object]) -> None:
    """Start a cluster; where the machine is too busy for Ray's time limits, once more.

    Raises:
        RayStartError: It fails again.
        ValueError: Ray does not take its options, such as too little memory.
    """
    for is_last in (False, True):
        try:
            with without_own_keys():
                return _call_in_lasting_thread(init)
        except ValueError:
            raise
        except Exception as error:  # its class is Ray's base of all
            shut_down()
            if is_last:
                raise RayStartError(
                    "Ray did not start on this machine, tried twice: it may be too busy or short "
                    "of memory, so end other work there, let Ray start fewer processes by "
                    "COSQA_RAY__CPUS, or name a running cluster by RAY_ADDRESS; then the same "
                    f"command goes on ({str(error)[:300]})"
                ) from error
            _log.warning("Ray did not start, and is started once more: %s", error)
    return None


def _require_answer(address: str) -> None:
    """Require that a cluster answers at an address: Ray itself asks in vain for minutes.

    Raises:
        OSError: Nobody answers there, or not within a second.
        ValueError: It is no address.
        AuthenticationError: The cluster takes another token.
    """
    from ray._raylet import GcsClient  # type: ignore[attr-defined]  # noqa: PLC0415 - `ensure_ray`

    if ":" not in address:
        return
    place = urlsplit(address if "//" in address else f"//{address}")
    with socket.create_connection((place.hostname, place.port), _PATIENCE_S) as stream:
        if os.environ.get("RAY_USE_TLS", "0").lower() not in ("1", "true"):
            stream.sendall(_GREETING)
            if stream.recv(9)[3:4] != b"\x04":  # a server's own settings come first
                raise ConnectionError("what listens there is no Ray")
    if not place.scheme:
        GcsClient(address=address)


def _call_in_lasting_thread(call: Callable[[], object]) -> None:
    """Call in a thread that ends with this process: with it the kernel ends what it has started.

    One in which the call fails ends at once.
    """
    done: Future[object] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised by the caller
            done.set_exception(error)
        else:
            threading.Event().wait()

    threading.Thread(target=run, name="ray", daemon=True).start()
    done.result()


def _own_folder(shut_down: Callable[[], object]) -> Path:
    """Return a new folder for a cluster, which is removed when this process has ended it.

    Ray lets everybody write in it and below, so it lies in one that this user alone may enter.
    """
    root = Path(tempfile.gettempdir())
    if len(f"{root}/{_FOLDERS}/{_INNER}") + _RANDOM > _LONGEST_FOLDER:
        root = Path("/tmp")  # noqa: S108 - `mkdtemp` makes a folder of this user alone
    folder = Path(tempfile.mkdtemp(prefix=_FOLDERS, dir=root))

    def remove() -> None:
        shut_down()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder / _INNER


def check_reach(prefect_api: str | None) -> None:
    """Check that shards on other machines of the cluster reach what they need.

    Args:
        prefect_api: Address of the Prefect server, to which shards report.

    Raises:
        SettingsError: The cluster has several machines, and only this one reaches it.
    """
    import ray  # noqa: PLC0415 - see `ensure_ray`

    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    machines = len({node["NodeManagerAddress"] for node in nodes if node["Alive"]})
    if machines <= 1:
        return
    if urlsplit(prefect_api or "").hostname in _THIS_MACHINE:
        raise SettingsError(
            f"the Ray cluster has {machines} machines, whose shards report to Prefect, but its "
            f"server is reached from this machine alone ({prefect_api}): run `prefect server start "
            "--host 0.0.0.0` here and set PREFECT_API_URL to the server's address in the network, "
            "or unset RAY_ADDRESS"
        )


def _restrict_access() -> None:
    """Make the cluster that this process will start listen on loopback, and demand a new token.

    What a user has set for other clusters, such as a namespace or a Redis, is not for this one.

    Ray reads these variables when it is imported, which may have happened before; so what it has
    read is set as well. `tests/infra/test_ray.py` shows that the pinned release obeys.
    """
    own = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        # On Linux too: without clusters of several machines, this node's address is the loopback's.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_CLIENT_MODE": "0",  # as Ray's import sets it
    }
    known = _SWITCHES.keys() | own.keys()
    if others := sorted(n for n in os.environ if n.startswith("RAY_") and n not in known):
        for name in others:
            del os.environ[name]
        _log.warning("not used, as the Ray cluster is this program's own: %s", ", ".join(others))
    os.environ |= own
    from ray._private import ray_constants  # noqa: PLC0415 - see `ensure_ray`
    from ray._raylet import (  # type: ignore[attr-defined]  # noqa: PLC0415
        AuthenticationTokenLoader,
        Config,
    )

    ray_constants.ENABLE_RAY_CLUSTER = False
    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()


def box_resources() -> dict[str, float]:
    """Return the Ray resources for work that runs boxes: ``docker``, where any node declares it.

    A node with a Docker engine is started with ``ray start --resources '{"docker": 4}'``, four
    being the shards that it takes at once. Where no node declares any, every node is tried.
    """
    import ray  # noqa: PLC0415 - see `ensure_ray`

    declared = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return {"docker": 1.0} if "docker" in declared else {}
