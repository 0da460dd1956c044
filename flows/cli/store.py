"""``cosqa store``: checks the store and backs it up."""

from pathlib import Path
from typing import Annotated

import typer

from flows import options as o
from flows.cli.output import command, errors, group, say
from flows.options import settings_of

app = group("Check the store, back it up and restore it.")
Backup = Annotated[Path, typer.Argument(help="The folder of the backup.")]


@command(app, "cosqa store check", "cosqa store check --store cosqa-data", name="check")
def store_check(store: o.Store = None) -> None:
    """Check the store: schema version, counts and references; say what is wrong.

    Nothing is changed. The exit status is 1 if something is lost or wrong.
    """
    from infra.store import require_store
    from infra.store.maintenance import faults_of, row_counts

    settings = settings_of(store_check, locals()).store
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


@command(app, "cosqa store backup backups/monday", name="backup")
def store_backup(folder: Backup, store: o.Store = None) -> None:
    """Write a backup of the whole store into a new folder, while runs may go on.

    It has the database, the journal of replies and of what was spent, and vectors (by a second name
    where the disk is the same). It is there when it is whole, or not at all.
    """
    from infra.store import require_store
    from infra.store.maintenance import back_up

    settings = settings_of(store_backup, locals()).store
    require_store(settings)
    with errors.status("copying the store"):
        back_up(settings, folder)
    say(f"{folder}: `cosqa store restore {folder}` puts it into an empty folder.")


@command(
    app,
    "cosqa store restore backups/monday",
    "cosqa store restore backups/monday --store another-store",
    name="restore",
)
def store_restore(folder: Backup, store: o.Store = None) -> None:
    """Put a backup into the store's folder, which must be empty or absent.

    Nothing is overwritten: move a store that is there away, or name another folder.
    """
    from infra.store.maintenance import restore

    settings = settings_of(store_restore, locals()).store
    with errors.status("copying the backup"):
        restore(settings, folder)
    say(f"{settings.folder} is as in {folder}.")
