"""Writing of a benchmark as a folder: tables, BEIR's layout, the card, and the manifest last."""

import os
import shutil
from pathlib import Path

from pydantic import ValidationError

from infra.errors import PublishError
from infra.files import OTHER_OUTPUT, is_disk_full, space_on
from tasks.benchmarks.beir import write_beir
from tasks.benchmarks.benchmark import Benchmark, check_benchmark
from tasks.benchmarks.card import write_card
from tasks.benchmarks.folder import atomic_folder
from tasks.benchmarks.manifest import (
    MANIFEST,
    Manifest,
    describe,
    read_manifest,
    verify_export,
    write_manifest,
)
from tasks.benchmarks.tables import write_tables
from tasks.benchmarks.trec import RUNS


def write_benchmark(
    benchmark: Benchmark, folder: Path, *, include_undecided: bool = False
) -> Manifest:
    """Export a benchmark as a folder and return its manifest.

    The same benchmark gives the same bytes. The folder appears, or takes an older export's place,
    only when it is whole. An export that is already there, equal and intact, is left as it is with
    the runs that evaluation put beside it; one that is replaced by files of the same benchmark
    hands them over.

    Args:
        benchmark: What is exported.
        folder: The export's own folder.
        include_undecided: List the undecided pairs in a file of their own.

    Raises:
        PublishError: See `check_benchmark`; or ``folder`` holds files that no export has written.
    """
    check_benchmark(benchmark)
    with (
        space_on(folder.parent, OTHER_OUTPUT),
        atomic_folder(folder, _own) as partial,
    ):
        manifest = describe(benchmark, undecided_listed=include_undecided)
        write_tables(benchmark, partial, include_undecided=include_undecided)
        write_beir(benchmark, partial / "beir")
        write_card(manifest, partial)
        manifest = write_manifest(manifest, partial)
        if _is_as_written(manifest, folder):
            shutil.rmtree(partial)
        else:
            _keep_runs(manifest, folder, partial)
    return manifest


def _own(folder: Path) -> set[str]:
    """Return the files that an export in a folder has written, by its manifest.

    Of one that a killed process or a full disk has cut off, those that have an export's names.
    """
    if not (folder / MANIFEST).is_file():
        return set()
    try:
        manifest = Manifest.model_validate_json((folder / MANIFEST).read_bytes())
        listed = {file.path for file in manifest.files}  # of whatever format version
    except ValidationError as error:
        if error.errors()[0]["type"] != "json_invalid":
            read_manifest(folder)  # says what is wrong with it
        listed = {"README.md", "beir/", *(path.name for path in folder.glob("*.parquet"))}
    return {MANIFEST, f"{RUNS}/"} | listed


def _keep_runs(manifest: Manifest, folder: Path, partial: Path) -> None:
    """Give a folder the runs of an older export of the same benchmark, whose files differ."""
    runs = folder / RUNS
    try:
        is_same = read_manifest(folder).fingerprint == manifest.fingerprint
    except PublishError:
        return
    if is_same and runs.is_dir():
        shutil.copytree(runs, partial / RUNS, copy_function=_link)


def _link(source: str, target: str) -> None:
    """Make a file appear under a second name, or copy it where the disk knows no links."""
    try:
        os.link(source, target)
    except OSError as error:
        if is_disk_full(error):
            raise
        shutil.copy2(source, target)


def _is_as_written(manifest: Manifest, folder: Path) -> bool:
    """Return True if a folder holds an equal export, no file of which was changed."""
    try:
        return verify_export(folder) == manifest
    except PublishError:
        return False
