"""``cosqa label``: samples for people, their sheets, and people's labels."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from flows.cli.output import print_document, say
from infra.errors import SettingsError
from infra.settings import SandboxSettings, StoreSettings
from infra.store import Database, open_database, samples
from infra.store.samples import Sample
from tasks.reports.text import counted, tally
from tasks.stages.label.agents import agents_beside_people, write_truth
from tasks.stages.label.report import agents_document, orders_document, results_document
from tasks.stages.label.results import label_results
from tasks.stages.label.sheets import read_sheets, write_sheets


def names_of(annotators: Sequence[str]) -> list[str]:
    """Return the names of people without repeats.

    Raises:
        SettingsError: A file cannot be called so.
    """
    for name in annotators:
        if not re.fullmatch(r"\w([\w.-]{0,62}\w)?", name):
            raise SettingsError(
                f"--annotator {name!r}: letters, digits, and . _ - between them, 64 at most"
            )
    return list(dict.fromkeys(annotators))


def write(
    database: Database,
    sample: Sample,
    annotators: Sequence[str],
    outputs: Path,
    positions: Collection[int] = (),
) -> None:
    """Write a sheet of a sample for each person, and print where it is.

    Args:
        database: The store.
        sample: The sample.
        annotators: The people.
        outputs: The folder of outputs, in which the folder of sheets is.
        positions: The items on the sheets; empty takes all.
    """
    for name in annotators:
        samples.assign(database, sample, name, positions)
    files = write_sheets(database, sample, annotators, outputs / "sheets")
    say(f"sample {sample.sample_id}: {counted(len(positions or sample.items), 'items')}")
    for file in files:
        say(str(file))
    say(
        "What grades and notes mean is in the file of guidelines beside them. `cosqa label read "
        "FILE...` reads them when they are filled in, also in part."
    )


def read(store: StoreSettings, sandbox: SandboxSettings, sheets: Sequence[Path]) -> None:
    """Store the labels of sheets; print how far people agree, and what they label."""
    database = open_database(store)
    found = read_sheets(database, sheets, sandbox)
    stored = tally({"labels": found.votes, "programs_run": found.programs})
    say(f"sample {found.sample.sample_id}: {stored}")
    print_document(results_document(found.sample, label_results(database, found.sample)))


def results(
    store: StoreSettings, sample_id: str, truth: Path | None, epsilon: float, estimate: Path | None
) -> None:
    """Print the results of a sample, and how right the agents are; write the truth where asked."""
    database = open_database(store)
    sample = samples.load_sample(database, sample_id)
    by_people = label_results(database, sample)
    print_document(results_document(sample, by_people))
    if estimate:
        print_document(orders_document(by_people, estimate))
    if found := agents_beside_people(database, sample, epsilon):
        print_document(agents_document(found, sample.criterion))
    if truth:
        say(f"{truth}: {counted(write_truth(database, sample, truth), 'pairs')} with a majority")
