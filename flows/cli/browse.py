"""``cosqa browse``: local pages over a store or an exported folder, or the same as files."""

import socket

import uvicorn

from flows.cli.output import say
from flows.options import Browse
from infra.errors import SettingsError
from infra.settings import StoreSettings
from infra.store import open_database, require_store
from tasks.browse.app import browse_app
from tasks.browse.bundle import write_bundle
from tasks.browse.guard import Guard, is_loopback, new_token
from tasks.browse.labelling import Labelling
from tasks.browse.opened import OneFolder, StoreCopies
from tasks.reports.text import counted


def browse(options: Browse) -> None:
    """Serve the pages until Ctrl-C, or write them into a folder.

    Raises:
        StoreError: There is no store.
        SettingsError: The folder is no exported one, or the address cannot be listened at.
    """
    store = None if options.folder else options.settings.store
    browsed = OneFolder(options.folder) if options.folder else _copies(options.settings.store)
    if options.bundle:
        pages = write_bundle(browsed.current(), options.bundle)
        say(f"{counted(pages, 'pages')}: {options.bundle}")
        return
    guard = Guard(options.host, options.port, "" if is_loopback(options.host) else new_token())
    labels = Labelling(open_database(store), options.settings.sandbox) if store else None
    config = uvicorn.Config(
        browse_app(browsed, guard, labels), log_level="warning", server_header=False,
        proxy_headers=False, ws="none",
    )  # fmt: skip
    with _bound(options.host, options.port) as bound:
        say(f"The pages are at {guard.address}\nCtrl-C ends them.")
        uvicorn.Server(config).run(sockets=[bound])


def _copies(store: StoreSettings) -> StoreCopies:
    require_store(store)
    return StoreCopies(store)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise SettingsError(
            f"{host} port {port} cannot be listened at ({error.strerror}): end what does, or "
            "choose another with --host and --port"
        ) from error
