"""``cosqa server``: a Prefect server, the deployments of prefect.yaml, and a worker."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.events.schemas.automations import AutomationCore
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.cli.output import say
from flows.options import Server
from flows.runtime.prefect_server import (
    api_address,
    await_server,
    die_with_parent,
    is_healthy,
    without_secrets,
)
from infra.errors import SettingsError
from infra.settings.working_folder import refuse_settings_of_prefect

_SOURCE = Path(__file__).parents[2]
_POOL = "cosqa"
_POLL_S = 0.5
_END_TIMEOUT_S = 30.0
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


def serve(options: Server) -> None:
    """Run server and worker until one of them ends, or a signal ends this process.

    Raises:
        SettingsError: The port is taken; the server does not start or does not take the
            deployments; or one of both ended by itself.
    """
    refuse_settings_of_prefect(options.place)
    _require_free(options.port)
    api = api_address(options.port)
    environment = dict(os.environ) | {"PREFECT_API_URL": api}
    with _until_a_signal():
        server = without_secrets(environment) | _SERVER
        start = f"server start --host 127.0.0.1 --port {options.port}"
        with _child(start, server, options.place, signal.SIGTERM) as served:
            await_server(served, lambda: is_healthy(options.port))
            with temporary_settings({PREFECT_API_URL: api}):
                _make_pool_and_automations()
            _deploy(environment, options.place)
            start = f"worker start --pool {_POOL} --type process"
            with _child(start, environment, options.place, signal.SIGINT) as worker:
                say(f"Runs work in {options.place}. The UI is at {api.removesuffix('/api')}.")
                say("Begin there with Deployments > benchmark > Run.")
                say(f"For commands in other terminals: export PREFECT_API_URL={api}")
                say("Ctrl-C ends server, worker and the runs that the worker has started.")
                _wait({"server": served, "worker": worker})


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
    """End the ``with`` without an error at SIGINT or SIGTERM; further ones change nothing."""

    def end(*_: object) -> None:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        say("Ending the worker and the server.")
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


@contextmanager
def _child(
    command: str, environment: Mapping[str, str], folder: Path, end: signal.Signals
) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process of Prefect's command line; it ends by a signal, by force if need be."""
    # A session of its own: Ctrl-C reaches this process alone, which ends its children in order.
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "prefect", *command.split()], env=environment, cwd=folder,
        start_new_session=True, preexec_fn=die_with_parent,  # noqa: PLW1509
    )  # fmt: skip
    try:
        yield process
    finally:
        process.send_signal(end)
        try:
            process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _make_pool_and_automations() -> None:
    """Make the work pool and the automations that the server does not have."""
    file = _SOURCE / "infra" / "deploy" / "automations.yaml"
    with get_client(sync_client=True) as client:
        if not any(pool.name == _POOL for pool in client.read_work_pools()):
            client.create_work_pool(WorkPoolCreate(name=_POOL, type="process"))
        for automation in yaml.safe_load(file.read_text("utf-8"))["automations"]:
            if not client.read_automations_by_name(automation["name"]):
                client.create_automation(AutomationCore.model_validate(automation))


def _deploy(environment: Mapping[str, str], folder: Path) -> None:
    """Register the deployments; their runs work in the folder."""
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file"]
    done = subprocess.run(  # noqa: S603
        [*command, str(_SOURCE / "prefect.yaml")], env=dict(environment), cwd=folder,
        check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    )  # fmt: skip
    if done.returncode:
        raise SettingsError(f"the Prefect server does not take the deployments:\n{done.stdout}")


def _wait(children: Mapping[str, subprocess.Popen[bytes]]) -> None:
    """Wait until one of the processes ends, and raise."""
    while True:
        for name, process in children.items():
            if (status := process.poll()) is not None:
                raise SettingsError(
                    f"the {name} ended with status {status} (see its messages above), so that all "
                    "ends: start `cosqa server` again; runs go on with what is left"
                )
        time.sleep(_POLL_S)
