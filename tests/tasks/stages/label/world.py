"""A store with candidates to sample, hostile texts among them, and people who fill in sheets."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

from infra.records import Code, Query
from infra.settings import SandboxSettings
from infra.store import Database, samples
from infra.store.samples import Sample
from tasks.stages.label.sample import Drawing, sample_candidates
from tasks.stages.label.sheets import write_sheets
from tests.fakes.stores import empty_store
from tests.tasks.stages.generate.world import also_collected

HOSTILE = (
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "+1",
    "-1",
    "'=quoted",
    "＝1+1",  # noqa: RUF001 - a formula in full width
    "x = '\x1b[31mred\x1b[0m'",
    "x = '\x00'",
    "# \u202egnirts",
    f"x = '{'y' * 1_000_000}'",
    "a, b;\tc = '\"', \"''\"",
    "<script>alert(1)</script>",
    "def f():\r\n    return '\\r\\n'",
)
CODES = [Code.of(text) for text in HOSTILE]
QUERIES = [Query.of(text) for text in ("=1+1 in python", "sort, a; list", "<b>bold</b> \u202e")]
SANDBOX = SandboxSettings(backend="fake")
Row = dict[str, str]
Change = Callable[[Row], object]


def hostile_store(folder: Path) -> Database:
    """Return a store whose candidates are all pairs of the texts above."""
    database = empty_store(folder / "store")
    also_collected(database, "c", QUERIES, CODES)
    return database


def drawn(database: Database, *names: str, pairs: int = 100, seed: int = 0) -> Sample:
    """Return a sample of pairs that people were given."""
    sample = sample_candidates(database, "", Drawing(pairs, seed=seed))
    for name in names:
        samples.assign(database, sample, name)
    return sample


def filled(database: Database, sample: Sample, name: str, folder: Path, change: Change) -> Path:
    """Return a sheet that a person has filled in."""
    [file] = write_sheets(database, sample, [name], folder)
    rows = read(file)
    for row in rows:
        change(row)
    save(file, rows)
    return file


def read(file: Path) -> list[Row]:
    """Return a sheet's rows as a spreadsheet shows them."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def save(file: Path, rows: Sequence[Row], delimiter: str = ",", encoding: str = "utf-8") -> None:
    """Write rows as a spreadsheet would."""
    with file.open("w", encoding=encoding, newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter, lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(rows)


def grade(number: int) -> Change:
    """Return a change that gives each row a grade."""
    return lambda row: row.update(grade=str(number))
