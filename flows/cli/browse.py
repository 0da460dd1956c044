"""``cosqa browse``: local pages over a store or an exported folder, or the same as files."""

import socket
from pathlib import Path

import uvicorn

from flows.cli.output import say
from infra.errors import SettingsError
from infra.settings import Settings
from infra.store import open_database, require_store
from tasks.browse.app import browse_app
from tasks.browse.guard import Guard, is_loopback, new_token
from tasks.browse.labelling import Labelling
from tasks.browse.opened import OneFolder, StoreCopies


def open_browsed(settings: Settings, folder: Path | None) -> OneFolder | StoreCopies:
    """Return what is shown: an exported folder where one is given, else the store.

    Raises:
        StoreError: There is no store.
        SettingsError: The folder is no exported one.
    """
    if folder:
        return OneFolder(folder)
    require_store(settings.store)
    return StoreCopies(settings.store)


def serve(
    browsed: OneFolder | StoreCopies, settings: Settings, host: str, port: int, *, is_store: bool
) -> None:
    """Serve the pages until Ctrl-C.

    Raises:
        SettingsError: The address cannot be listened at.
    """
    guard = Guard(host, port, "" if is_loopback(host) else new_token())
    labels = Labelling(open_database(settings.store), settings.sandbox) if is_store else None
    config = uvicorn.Config(
        browse_app(browsed, guard, labels), log_level="warning", server_header=False,
        proxy_headers=False, ws="none",
    )  # fmt: skip
    with _bound(host, port) as bound:
        say(f"The pages are at {guard.address}\nCtrl-C ends them.")
        uvicorn.Server(config).run(sockets=[bound])


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise SettingsError(
            f"{host} port {port} cannot be listened at ({error.strerror}): end what does, or "
            "choose another with --host and --port"
        ) from error
