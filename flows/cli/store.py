"""``cosqa store``: checks the store, backs it up, and keeps it small."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from flows.cli.lazy import examples
from flows.cli.options import Store
from flows.cli.output import errors, print_table, say
from infra.settings import Settings, StoreSettings, load_settings
from infra.store import open_database, require_store
from infra.store.backups import back_up
from infra.store.checks import Finding, check_database
from infra.store.file_checks import check_files
from infra.store.lease import writer_lease
from infra.store.restoring import restore as restore_backup
from tasks.stages.upkeep import Pruning, check_exports

_MB = 2**20

app = typer.Typer(
    name="store",
    help="The store: check it, back it up, keep it small.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Quick = Annotated[
    bool, typer.Option("--quick", help="Do not read every row, vector, reply and exported file.")
]
Backup = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the backup.")]
Force = Annotated[
    bool,
    typer.Option("--force", help="Put it in the place of a store that is there, which is kept."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Remove it; without this nothing is removed.")]


@app.command(epilog=examples("cosqa store check", "cosqa store check --quick --store cosqa-data"))
def check(*, store: Store = None, quick: Quick = False) -> None:
    """Check database, vectors, replies and exports; say what is wrong and what to do about it.

    Nothing is changed. The exit status is 1 if something is lost or wrong.
    """
    settings = _store(store)
    found = []
    with _steps() as step:
        for finding in _findings(settings, thorough=not quick):
            found.append(finding)
            step(finding.check)
            if finding.problem:
                _say_problem(finding)
    problems = [finding for finding in found if finding.problem]
    faults = sum(finding.is_fault for finding in problems)
    notes = len(problems) - faults
    say(f"{settings.folder}: {len(found)} checks; faults: {faults}, notes: {notes}.")
    if faults:
        raise typer.Exit(1)


def _say_problem(finding: Finding) -> None:
    kind, style = ("FAULT", "red") if finding.is_fault else ("note", "")
    say(f"{kind}: {finding.problem} (expected: {finding.check})", style=style)
    say(f"  what to do: {finding.advice}")


def _findings(settings: StoreSettings, *, thorough: bool) -> Iterator[Finding]:
    is_readable = True
    for finding in check_database(settings, thorough=thorough):
        is_readable = is_readable and not finding.problem
        yield finding
    if is_readable:
        yield from check_files(settings, thorough=thorough)
        yield from check_exports(open_database(settings), thorough=thorough)


@app.command(epilog=examples("cosqa store backup backups/monday"))
def backup(folder: Backup, *, store: Store = None) -> None:
    """Write a backup of the whole store into a new folder, while runs may go on.

    It has the database, vectors (by a second name where the disk is the same), replies and what was
    spent, and a list of them with checksums; it is there when it is whole, or not at all.
    """
    settings = _store(store)
    with _steps() as step:
        made = back_up(settings, folder, step)
    say(
        f"{folder}: {len(made.files):,} files, {_size(made.size)}, read back and found whole. "
        f"`cosqa store restore {folder}` puts it in place."
    )


@app.command(
    epilog=examples(
        "cosqa store restore backups/monday --force",
        "cosqa store restore backups/monday --store another-store",
    )
)
def restore(folder: Backup, *, store: Store = None, force: Force = False) -> None:
    """Put a backup in the store's place, after comparing all of it with its checksums.

    A store that is there is not overwritten: with --force it is kept under another name, and the
    replies that were paid for since and what was spent are taken over from it.
    """
    settings = _settings(store).store
    with _steps() as step:
        kept = restore_backup(settings, folder, force=force, report=step)
    say(f"{settings.folder} is as in {folder}.")
    if kept:
        say(
            f"What was there is in {kept}: remove it when it is not needed any more. The replies "
            "that were paid for since and what was spent were taken over from it."
        )


@app.command(epilog=examples("cosqa store prune", "cosqa store prune --yes"))
def prune(*, store: Store = None, yes: Yes = False) -> None:
    """Show what is old and needed by no label that stands or was published; with --yes remove it.

    The settings of the section retention say how long what is kept. The room
    is used again by what is written later.
    """
    settings = _settings(store)
    require_store(settings.store)
    lease = writer_lease(settings.store, "cosqa store prune") if yes else nullcontext()
    with lease, _steps() as step:
        step("looking for what is old")
        pruning = Pruning(settings)  # which labels stand is settled while no run writes others
        found = pruning.find()
        if yes:
            step("removing it")
            pruning.remove()
    rows = [(item.what, f"{item.rows:,}", _size(item.size)) for item in found]
    print_table("", ("what", "number", "about"), rows, rest="a wider terminal")
    if not any(item.rows for item in found):
        say("Nothing is old enough to be removed.")
    elif yes:
        say("Removed; what is written later uses the room again.")
    else:
        say("Nothing was removed: `cosqa store prune --yes` removes it.")


def _settings(store: Path | None) -> Settings:
    return load_settings({"store": {"folder": store}})


def _store(store: Path | None) -> StoreSettings:
    """Return the store's settings; refuse a folder that holds none."""
    settings = _settings(store).store
    require_store(settings)
    return settings


@contextmanager
def _steps() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the step that a command is at."""
    with errors.status("") as status:
        yield lambda step: status.update(escape(step))


def _size(number: int) -> str:
    return f"{number / _MB:,.1f} MiB"
