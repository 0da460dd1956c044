"""``cosqa store`` and ``cosqa sandbox``: checks, backups, and what is cleaned up."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from flows import options as o
from flows.cli.output import command, console, errors, group, say
from flows.options import settings_of
from tasks.reports.text import visible

store_app = group("Check the store, back it up and restore it.")
sandbox_app = group("Check the sandbox that untrusted code runs in, and clean it up.")
_LONGEST_CELL = 2_000
Backup = Annotated[Path, typer.Argument(help="The folder of the backup.")]


@command(store_app, "cosqa store check", "cosqa store check --store cosqa-data", name="check")
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


@command(store_app, "cosqa store backup backups/monday", name="backup")
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
    store_app,
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


@command(sandbox_app, "cosqa sandbox check", "cosqa sandbox check --language go", name="check")
def sandbox_check(
    language: Annotated[
        Literal["python", "javascript", "go"],
        typer.Option(help="The language whose boxes are checked; its image is made if need be."),
    ] = "python",
) -> None:  # fmt: skip
    """Check the Docker engine, the image and all behaviours that a sandbox must have."""
    import asyncio

    from rich.table import Table
    from rich.text import Text

    from infra.settings import load_settings
    from tasks.stages import sandbox

    settings = load_settings().sandbox
    say(asyncio.run(sandbox.description(settings)))
    table = Table("behaviour", "", "problem", title_justify="left")
    with console.status("checking behaviours"):
        results = asyncio.run(sandbox.check_behaviours(settings, language))
    for result in results:
        ok = "[green]ok[/]" if result.ok else "[red]no[/]"
        table.add_row(result.name, ok, Text(visible(result.detail, _LONGEST_CELL)))
    console.print(table)
    passed = sum(result.ok for result in results)
    console.print(f"{passed} of {len(results)} checks passed.")
    if passed < len(results):
        raise typer.Exit(1)


@command(sandbox_app, "cosqa sandbox clean", "cosqa sandbox clean --all", name="clean")
def sandbox_clean(
    *,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Also boxes of running processes, and the cache of downloaded wheels."
        ),
    ] = False,
) -> None:
    """Remove containers and volumes that processes which have ended left behind."""
    import asyncio

    from infra.settings import load_settings
    from tasks.stages import sandbox

    removed = asyncio.run(sandbox.clean(load_settings().sandbox, everything=everything))
    console.print(f"removed {removed} containers and volumes")
