"""``cosqa browse``: local pages over a store or an exported folder."""

import socket

import uvicorn

from flows.cli.output import say
from infra.errors import SettingsError
from tasks.browse.app import browse_app
from tasks.browse.guard import Guard, is_loopback, new_token
from tasks.browse.labelling import Labelling
from tasks.browse.opened import ExportSnapshot, StoreSnapshots


def serve(
    browsed: ExportSnapshot | StoreSnapshots, labels: Labelling | None, host: str, port: int
) -> None:
    """Serve the pages until Ctrl-C.

    Raises:
        SettingsError: The address cannot be listened at.
    """
    guard = Guard(host, port, "" if is_loopback(host) else new_token())
    config = uvicorn.Config(
        browse_app(browsed, guard, labels), log_level="warning", server_header=False,
        proxy_headers=False, ws="none",
    )  # fmt: skip
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family)
    except OSError as error:
        raise SettingsError(
            f"{host} port {port} cannot be listened at ({error.strerror}): end what does, or "
            "choose another with --host and --port"
        ) from error
    with bound:
        say(f"The pages are at {guard.address}\nCtrl-C ends them.")
        uvicorn.Server(config).run(sockets=[bound])
