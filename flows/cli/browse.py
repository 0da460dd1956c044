"""``cosqa browse``: local pages over a store or an exported folder, or the same as files."""

import uvicorn

from flows.cli.output import say
from flows.options import Browse
from infra.store import require_store
from tasks.browse.app import browse_app
from tasks.browse.bundle import write_bundle
from tasks.browse.guard import Guard, is_loopback, new_token
from tasks.browse.opened import OneFolder, StoreCopies


def browse(options: Browse) -> None:
    """Serve the pages until Ctrl-C, or write them into a folder.

    Raises:
        StoreError: There is no store.
        SettingsError: The folder is no exported one, or the port is taken.
    """
    if options.folder:
        browsed: OneFolder | StoreCopies = OneFolder(options.folder)
    else:
        require_store(options.settings.store)
        browsed = StoreCopies(options.settings.store)
    if options.bundle:
        say(f"{write_bundle(browsed.current(), options.bundle):,} pages: {options.bundle}")
        return
    guard = Guard(options.host, options.port, "" if is_loopback(options.host) else new_token())
    say(f"The pages are at {guard.address}\nCtrl-C ends them.")
    uvicorn.run(
        browse_app(browsed, guard), host=options.host, port=options.port,
        log_level="warning", server_header=False,
    )  # fmt: skip
