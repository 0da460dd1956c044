"""Checks of a store's files beside the database: vectors, replies, and what runs have left over."""

import shutil
import time
from collections.abc import Iterator
from math import inf
from pathlib import Path

from infra.errors import StoreError
from infra.packed_files import remove_packed
from infra.packed_upkeep import condition_of, packed_stores, replaced_files
from infra.settings import StoreSettings
from infra.store.checks import Finding
from infra.store.connections import connected
from infra.store.vector_files import VectorFile

_LEFT_AFTER_S = 86_400.0  # what is younger may be of a process that is at work
_LEFTOVERS = (
    "**/.*.partial", "replies/.*.part", "replies/batch-*.jsonl", ".judges-*", "*.duckdb.tmp",
    ".*.duckdb.new*",
)  # fmt: skip
_COLLECT = (
    "delete the file, where it is there, and run `cosqa collect`, which embeds its texts anew"
)
_PRUNE = "`cosqa store prune` removes them"
_MOST = 5  # that are named


def check_files(settings: StoreSettings, *, thorough: bool) -> Iterator[Finding]:
    """Yield what is found in a store's files.

    Args:
        settings: A store of this release.
        thorough: Whether to read every vector and every reply.
    """
    yield _check_vectors(settings, thorough=thorough)
    for store in packed_stores(settings.replies):
        entries, unreadable, problem = condition_of(store, thorough=thorough)
        if unreadable:
            problem += f"; {unreadable:,} of {entries:,} entries are damaged"
        yield Finding(
            check=f"{store.file.name} can be read",
            problem=problem.removeprefix("; "),
            advice="run any command that asks a model: it takes over what can be read, and what "
            "is lost is asked and paid for again; or restore a backup",
        )
    refused = sorted(settings.refused.glob("*.json"))
    yield Finding(
        check="no annotation was refused",
        problem=f"{settings.refused} has {len(refused):,} files" if refused else "",
        advice="the log of the run says why; `cosqa annotate` judges their pairs again",
        is_fault=False,
    )
    left = leftovers(settings)
    yield Finding(
        check="nothing was left by killed runs",
        problem=_listed([str(path) for path in left]),
        advice=_PRUNE,
        is_fault=False,
    )


def leftovers(settings: StoreSettings) -> list[Path]:
    """Return files that killed runs have left, and damaged ones that were replaced."""
    found = {path for pattern in _LEFTOVERS for path in settings.folder.glob(pattern)}
    limit = time.time() - _LEFT_AFTER_S
    old = [path for path in found if _changed_at(path) < limit]
    replaced = [file for store in packed_stores(settings.replies) for file in replaced_files(store)]
    return [*sorted(old), *replaced]  # these in the order in which they are to go


def _changed_at(path: Path) -> float:
    """Return when a file was changed; one that a run has just removed is not old."""
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return inf


def remove(path: Path) -> None:
    """Remove a file or a folder, with the logs that SQLite keeps beside a file."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        remove_packed(path)


def _check_vectors(settings: StoreSettings, *, thorough: bool) -> Finding:
    with connected(settings) as connection:
        recorded = connection.execute(
            "SELECT file, items, dimension FROM vector_files ORDER BY file"
        ).fetchall()
    problems = [
        f"{file} {problem}"
        for file, items, dimension in recorded
        if (problem := _fault(settings.vectors / file, items, dimension, thorough=thorough))
    ]
    return Finding(
        check=f"{len(recorded):,} files of vectors are as they were recorded",
        problem=_listed(problems),
        advice=_COLLECT,
    )


def _fault(file: Path, items: int, dimension: int | None, *, thorough: bool) -> str:
    """Return what is wrong with a file of vectors, "" for nothing."""
    if not file.exists():
        return "is missing"
    opened = VectorFile(file)
    try:
        if len(opened.ids) < items:
            return f"has {len(opened.ids):,} ids instead of {items:,}"
        if thorough and opened.rows.shape[0] != len(opened.ids):
            return f"has {opened.rows.shape[0]:,} vectors for {len(opened.ids):,} ids"
        if thorough and dimension not in (None, opened.rows.shape[1]):
            return f"has vectors of {opened.rows.shape[1]} dimensions instead of {dimension}"
    except StoreError as error:
        return f"cannot be read: {error}"
    return ""


def _listed(problems: list[str]) -> str:
    more = f"; and {len(problems) - _MOST:,} more" if len(problems) > _MOST else ""
    return "; ".join(problems[:_MOST]) + more
