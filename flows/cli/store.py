"""``cosqa store``: checks the store and backs it up."""

from pathlib import Path

import typer

from flows.cli.output import errors, say
from infra.settings import StoreSettings
from infra.store import require_store
from infra.store.backup import back_up
from infra.store.backup import restore as restore_backup
from infra.store.check import faults_of, row_counts


def check(settings: StoreSettings) -> None:
    """Check a store; say what is wrong and what to do, and exit with 1 if anything is."""
    require_store(settings)
    with errors.status("checking the store"):
        faults = list(faults_of(settings))
    for fault in faults:
        say(f"FAULT: {fault}", style="red")
    if faults:
        say(
            "What to do: `cosqa collect --reread` stores queries, codes and vectors anew. For the "
            "rest move the store away and run `cosqa store restore BACKUP`."
        )
        raise typer.Exit(1)
    counts = ", ".join(f"{rows:,} {table}" for table, rows in row_counts(settings).items())
    say(f"{settings.folder} has no fault: {counts}.")


def backup(settings: StoreSettings, folder: Path) -> None:
    """Write a backup of the whole store into a new folder, while runs may go on."""
    require_store(settings)
    with errors.status("copying the store"):
        back_up(settings, folder)
    say(f"{folder}: `cosqa store restore {folder}` puts it into an empty folder.")


def restore(settings: StoreSettings, folder: Path) -> None:
    """Put a backup into the store's folder, which must be empty or absent."""
    with errors.status("copying the backup"):
        restore_backup(settings, folder)
    say(f"{settings.folder} is as in {folder}.")
