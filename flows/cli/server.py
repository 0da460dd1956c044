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
from prefect.settings import PREFECT_SERVER_API_AUTH_STRING

from flows.cli.output import say
from flows.runtime.command_run import end_killed_runs
from flows.runtime.prefect_server import (
    PROGRAM,
    address_file,
    api_address,
    auth_file,
    await_server,
    die_with_parent,
    server_auth,
    server_process,
    settings_of_server,
    using_server,
    without_secrets,
)
from flows.runtime.working_folder import refuse_prefect_settings
from infra.errors import SettingsError

_POOL = "cosqa"
_POLL_S = 0.5
_END_TIMEOUT_S = 30.0
# Leases of Prefect's own slots survive the server; of the two UIs that Prefect serves, the first
# one shows "Resume" next to a run's name.
_SERVER = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
        "prefect.server.concurrency.lease_storage.filesystem"
    ),
}


def serve(place: Path, port: int) -> None:
    """Run server and worker until one of them ends, or a signal ends this process.

    Raises:
        SettingsError: The port is taken; the server does not start or does not take the
            deployments; one of both ended by itself; or the folder has settings of Prefect.
    """
    refuse_prefect_settings(place)
    api = api_address(port)
    # The port first: a password is not made anew beside a server that is there.
    with _bound(port) as bound, _until_a_signal(), using_server(api, auth := server_auth()):
        settings = without_secrets(os.environ) | _SERVER | settings_of_server(port, auth)
        server = server_process(bound, settings)
        bound.close()
        with _ended(server, signal.SIGTERM):
            await_server(server, port, auth)
            address_file().write_text(api, encoding="utf-8")
            end_killed_runs()
            _make_pool_and_automations()
            _deploy(place)
            # A session of its own: Ctrl-C reaches this process alone, which ends its children in
            # order.
            start = ["-P", "-m", "prefect", "worker", "start", "--pool", _POOL, "--type", "process"]
            worker = subprocess.Popen(  # noqa: S603
                [sys.executable, *start],
                cwd=PROGRAM,
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509
            )
            with _ended(worker, signal.SIGINT):
                say(f"Runs work in {place}. The UI is at {api.removesuffix('/api')}.")
                # A terminal's log is no place for a password.
                held = "your PREFECT_SERVER_API_AUTH_STRING"
                if PREFECT_SERVER_API_AUTH_STRING.value() != auth:
                    held = f"the line in {auth_file()}"
                say(f"It asks for the password once: {held}.")
                say("Begin there with Deployments > benchmark > Run.")
                say("Commands in other terminals show their runs there.")
                say("Ctrl-C ends server, worker and the runs that the worker has started.")
                _wait({"server": server, "worker": worker})


@contextmanager
def _bound(port: int) -> Iterator[socket.socket]:
    """Yield a socket at the port, where nobody else can listen from then on."""
    try:
        bound = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise SettingsError(
            f"port {port} of this machine is taken already ({error.strerror}), perhaps by an "
            "earlier `cosqa server`: end it, or choose another port with --port"
        ) from error
    with bound:
        yield bound


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
def _ended(process: subprocess.Popen[bytes], end: signal.Signals) -> Iterator[None]:
    """End a process after the ``with`` by a signal, by force if need be."""
    try:
        yield
    finally:
        process.send_signal(end)
        try:
            process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _make_pool_and_automations() -> None:
    """Make the work pool and the automations that the server does not have."""
    file = PROGRAM / "infra" / "deploy" / "automations.yaml"
    with get_client(sync_client=True) as client:
        if not any(pool.name == _POOL for pool in client.read_work_pools()):
            client.create_work_pool(WorkPoolCreate(name=_POOL, type="process"))
        for automation in yaml.safe_load(file.read_text("utf-8"))["automations"]:
            if not client.read_automations_by_name(automation["name"]):
                client.create_automation(AutomationCore.model_validate(automation))


def _deploy(folder: Path) -> None:
    """Register the deployments; their runs work in the folder.

    Prefect looks for flows in its working folder first, which is ours.
    """
    command = [sys.executable, "-P", "-m", "prefect", "--no-prompt", "deploy", "--all"]
    done = subprocess.run(  # noqa: S603
        command, cwd=PROGRAM, env={**os.environ, "COSQA_FOLDER": str(folder)}, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
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
