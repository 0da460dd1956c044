"""Repositories by their popularity and their use by others, as libraries.io counts them.

Source: Husain et al., "CodeSearchNet Challenge" (2019), section 2: repositories are no forks, are
used by at least one other project, and come in the order of their stars and forks.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from infra.errors import SourceError
from tasks.corpus.source_files import SourceFiles
from tasks.inputs.csv import read_table
from tasks.inputs.text import printable

UNLISTED = "file of a repository that the file of popularity lacks"
FORK = "file of a fork"
UNUSED = "file of a repository that no other project uses"

_PREFIX = "Repository "  # before the names in projects_with_repository_fields.csv
_NAME, _FORK, _STARS, _FORKS = "Name with Owner", "Fork", "Stars Count", "Forks Count"
_FILES = "libraries.io's repositories or projects_with_repository_fields as CSV"
_USES = ("Dependent Projects Count", "Dependent Repositories Count")


def most_popular_first(files: SourceFiles, table: Path, dropped: Counter[str]) -> SourceFiles:
    """Return the files of repositories that others use, those of the most popular ones first.

    A repository is a folder ``owner/name`` below the root, or ``name``, which is then the most
    popular one of that name. Files of others are counted in ``dropped``.

    Args:
        files: Files of one or more repositories.
        table: A CSV of libraries.io's columns, of its repositories or of its projects with those of
            their repositories. Where it has no counts of use, all are used.
        dropped: Reason → number of files.

    Raises:
        SourceError: The table is missing, or lacks a column or a count.
    """
    names = {file: _names_of(file.relative_to(files.root)) for file in files.files}
    known = _read(table, {name for both in names.values() for name in both})
    kept: dict[Path, tuple[int, str]] = {}
    for file, both in names.items():
        name = next(filter(known.__contains__, both), "")
        reason, popularity = known.get(name, (UNLISTED, 0))
        if reason:
            dropped[reason] += 1
        else:
            kept[file] = (-popularity, name)
    return replace(files, files=tuple(sorted(kept, key=lambda file: (*kept[file], file))))


def _names_of(file: Path) -> tuple[str, str]:
    parts = [part.lower() for part in file.parts[:-1]]
    return "/".join(parts[:2]), parts[0] if parts else ""


def _read(table: Path, wanted: set[str]) -> dict[str, tuple[str, int]]:
    """Return repository, with its owner and alone → why it is left out, "", and its popularity."""
    found: dict[str, tuple[str, int]] = {}
    for place, row in _rows(table):
        full = row[_NAME].lower()
        for name in {full, full.rpartition("/")[2]} & wanted:
            reason = FORK if row.get(_FORK, "").lower() in ("true", "t", "1") else ""
            uses = [_count(place, row, use) for use in _USES if use in row]
            reason = reason or (UNUSED if uses and not sum(uses) else "")
            one = reason, _count(place, row, _STARS) + _count(place, row, _FORKS)
            # A repository has a row for each of its projects, of which one may be used.
            found[name] = max(found.get(name, one), one, key=lambda each: (not each[0], each[1]))
    return found


def _rows(table: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the rows by libraries.io's names of columns, without those that have no repository.

    The published rows end in a comma that the header has not.
    """
    if not table.is_file():
        raise SourceError(f"{printable(table)}: no such file: give one with libraries.io's columns")
    for place, row in read_table(table, (_NAME, _STARS, _FORKS), _column, _FILES):
        if row[_NAME]:
            yield place, row


def _column(name: str) -> str:
    return name.removeprefix(_PREFIX).rstrip("?")


def _count(place: str, row: Mapping[str, str], name: str) -> int:
    cell = row[name].strip() or "0"
    if not (cell.isascii() and cell.isdigit() and len(cell) < 16):
        raise SourceError(f"{place}: {name} is {cell[:40]!r}, no whole number: write one")
    return int(cell)
