"""``cosqa store``: checks the store, backs it up, and keeps it small."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import typer
from rich.markup import escape

from flows.cli.output import errors, print_table, say
from flows.options import Backup, CheckStore, Prune, Restore
from infra.settings import StoreSettings
from infra.store import open_database, require_store
from infra.store.backup import back_up
from infra.store.backup import restore as restore_backup
from infra.store.check import Finding, check_database, check_files
from infra.store.runs import writer_lease
from tasks.stages.upkeep import Pruning, check_exports

_MB = 2**20


def check(options: CheckStore) -> None:
    """Check a store; say what is wrong and what to do about it, and exit with 1 if anything is."""
    settings = options.settings.store
    require_store(settings)
    found = []
    with _steps() as step:
        for finding in _findings(settings, thorough=not options.quick):
            found.append(finding)
            step(finding.check)
            if finding.problem:
                kind, style = ("FAULT", "red") if finding.is_fault else ("note", "")
                say(f"{kind}: {finding.problem} (expected: {finding.check})", style=style)
                say(f"  what to do: {finding.advice}")
    problems = [finding for finding in found if finding.problem]
    faults = sum(finding.is_fault for finding in problems)
    notes = len(problems) - faults
    say(f"{settings.folder}: {len(found)} checks; faults: {faults}, notes: {notes}.")
    if faults:
        raise typer.Exit(1)


def _findings(settings: StoreSettings, *, thorough: bool) -> Iterator[Finding]:
    is_readable = True
    for finding in check_database(settings, thorough=thorough):
        is_readable = is_readable and not finding.problem
        yield finding
    if is_readable:
        yield from check_files(settings, thorough=thorough)
        yield from check_exports(open_database(settings), thorough=thorough)


def backup(options: Backup) -> None:
    """Write a backup of the whole store into a new folder, while runs may go on."""
    settings, folder = options.settings.store, options.folder
    require_store(settings)
    with _steps() as step:
        made = back_up(settings, folder, step)
    say(
        f"{folder}: {len(made.files):,} files, {_size(made.size)}, read back and found whole. "
        f"`cosqa store restore {folder}` puts it in place."
    )


def restore(options: Restore) -> None:
    """Put a backup in the store's place, after comparing all of it with its checksums."""
    settings = options.settings.store
    with _steps() as step:
        kept = restore_backup(settings, options.folder, force=options.force, report=step)
    say(f"{settings.folder} is as in {options.folder}.")
    if kept:
        say(
            f"What was there is in {kept}: remove it when it is not needed any more. The replies "
            "that were paid for since and what was spent were taken over from it."
        )


def prune(options: Prune) -> None:
    """Show what is old and needed by no label that stands or was published, or remove it."""
    settings = options.settings
    require_store(settings.store)
    lease = writer_lease(settings.store, "cosqa store prune") if options.yes else nullcontext()
    with lease, _steps() as step:
        step("looking for what is old")
        pruning = Pruning(settings)  # which labels stand is settled while no run writes others
        found = pruning.find()
        if options.yes:
            step("removing it")
            pruning.remove()
    rows = [(item.what, f"{item.rows:,}", _size(item.size)) for item in found]
    print_table("", ("what", "number", "about"), rows, rest="a wider terminal")
    if not any(item.rows for item in found):
        say("Nothing is old enough to be removed.")
    elif options.yes:
        say("Removed; what is written later uses the room again.")
    else:
        say("Nothing was removed: `cosqa store prune --yes` removes it.")


@contextmanager
def _steps() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the step that a command is at."""
    with errors.status("") as status:
        yield lambda step: status.update(escape(step))


def _size(number: int) -> str:
    return f"{number / _MB:,.1f} MiB"
