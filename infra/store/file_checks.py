"""Checks of a store's files beside the database: vectors, journal, what runs have left over."""

import shutil
import time
from collections.abc import Iterator
from math import inf
from pathlib import Path

from infra.errors import StoreError
from infra.journal import fault_of
from infra.settings import StoreSettings
from infra.store.checks import Finding
from infra.store.connections import connected
from infra.store.vector_files import VectorFile

_LEFT_AFTER_S = 86_400.0  # what is younger may be of a process that is at work
_LEFTOVERS = (
    "**/.*.partial", "batch-*.jsonl", ".judges-*", "*.duckdb.tmp",
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
    yield Finding(
        check=f"{settings.journal.name} can be read",
        problem=fault_of(settings.journal, thorough=thorough),
        advice="restore a backup, which takes over what can be read; an entry that is damaged is "
        "asked and paid for again",
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
    """Return files and folders that killed runs have left."""
    found = {path for pattern in _LEFTOVERS for path in settings.folder.glob(pattern)}
    limit = time.time() - _LEFT_AFTER_S
    return sorted(path for path in found if _changed_at(path) < limit)


def _changed_at(path: Path) -> float:
    """Return when a file was changed; one that a run has just removed is not old."""
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return inf


def remove(path: Path) -> None:
    """Remove a file or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


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
