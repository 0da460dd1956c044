"""Writing of a benchmark as a folder: tables, BEIR's layout, the card, and the manifest last.

A table is a Parquet file with a row for each record, sorted by id.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from infra.errors import PublishError
from infra.files import OTHER_OUTPUT, is_disk_full, space_on
from tasks.benchmarks.benchmark import Benchmark, check_benchmark, columns_of
from tasks.benchmarks.card import write_card
from tasks.benchmarks.evidence import EVIDENCE_FILE, AnnotationStream
from tasks.benchmarks.interchange import write_beir
from tasks.benchmarks.manifest import (
    MANIFEST,
    Manifest,
    describe,
    read_manifest,
    verify_export,
    write_manifest,
)
from tasks.benchmarks.rows import EVIDENCE, ROUNDS, SCHEMAS, SPLITS
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
    with space_on(folder.parent, OTHER_OUTPUT), atomic_folder(folder, _own) as partial:
        manifest = describe(benchmark, undecided_listed=include_undecided)
        write_tables(benchmark, partial, include_undecided=include_undecided)
        write_beir(benchmark, partial / "beir")
        write_card(manifest, partial)
        manifest = write_manifest(manifest, partial)
        try:
            is_as_written = verify_export(folder) == manifest
        except PublishError:
            is_as_written = False
        if is_as_written:
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


_ROWS = 131_072  # of a row group
_ANNOTATIONS = 16_384  # of a row group of evidence, some 50 MB


def write_tables(benchmark: Benchmark, folder: Path, *, include_undecided: bool) -> None:
    """Write queries, codes and labels, and each of the other tables that has rows."""
    columns = columns_of(benchmark)
    optional = {"undecided": include_undecided, "specifications": bool(benchmark.specifications)}
    for name in ("queries", "codes", "labels", *filter(optional.get, optional)):
        rows = getattr(columns, name)
        _write(folder / f"{name}.parquet", rows.ordered().table, SCHEMAS[rows.kind])
    if benchmark.splits:
        parts = sorted(benchmark.splits.items())
        split = [{"query_id": query, "split": part} for query, part in parts]
        _write(folder / "splits.parquet", pa.Table.from_pylist(split, schema=SPLITS), SPLITS)
    if benchmark.evidence:
        _write_evidence(benchmark, folder)


def _write_evidence(benchmark: Benchmark, folder: Path) -> None:
    """Write the evidence in one pass, and what each of several labelling rounds said."""
    judged = []
    with pq.ParquetWriter(folder / EVIDENCE_FILE, EVIDENCE, compression="zstd") as file:
        for group in _row_groups(benchmark.evidence):
            file.write_table(group, row_group_size=_ANNOTATIONS)
            if benchmark.rounds:
                by_round = group.rename_columns({"replicate": "round"})
                judged.append(by_round.select(ROUNDS.names))
    if benchmark.rounds:
        _write(folder / "rounds.parquet", pa.concat_tables(judged), ROUNDS)


def _row_groups(evidence: AnnotationStream) -> Iterator[pa.Table]:
    """Yield tables of `_ANNOTATIONS` rows, so that the same evidence gives the same bytes."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in evidence.batches():
        waiting.append(batch)
        rows += batch.num_rows
        while rows >= _ANNOTATIONS:
            whole = pa.Table.from_batches(waiting)
            yield whole.slice(0, _ANNOTATIONS)
            waiting, rows = whole.slice(_ANNOTATIONS).to_batches(), rows - _ANNOTATIONS
    if rows:
        yield pa.Table.from_batches(waiting)


def _write(file: Path, table: pa.Table, schema: pa.Schema) -> None:
    chosen = table.select(schema.names).cast(schema)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for start in range(0, chosen.num_rows, _ROWS):
            writer.write_table(chosen.slice(start, _ROWS).combine_chunks(), row_group_size=_ROWS)


@contextmanager
def atomic_folder(folder: Path, own: Callable[[Path], Collection[str]]) -> Iterator[Path]:
    """Give an empty sibling folder that takes the place of ``folder`` when the block succeeds.

    When the block fails, ``folder`` stays as it was. When the block removes the sibling, it stays
    too. Traces of a process that was killed here are cleared first; one process at a time works
    among the siblings, the others wait. A link stays one: what it points to is replaced.

    Raises:
        PublishError: The folder has other files than those that may go with it, which ``own``
            returns by their paths in it; one that ends in ``/`` stands for all below.
    """
    folder = folder.resolve()
    partial = folder.with_name(f".{folder.name}.partial")
    former = folder.with_name(f".{folder.name}.former")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _exclusive(folder.parent):
        shutil.rmtree(partial, ignore_errors=True)
        if former.exists() and not folder.exists():  # a process was killed between two names
            former.rename(folder)
        shutil.rmtree(former, ignore_errors=True)
        _refuse_foreign(folder, own)
        partial.mkdir()
        try:
            yield partial
            if partial.exists():
                _refuse_foreign(folder, own)
                if folder.exists():
                    folder.rename(former)
                partial.rename(folder)
                shutil.rmtree(former, ignore_errors=True)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _refuse_foreign(folder: Path, own: Callable[[Path], Collection[str]]) -> None:
    """Refuse to replace a folder with files that this program has not written."""
    files = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    known = own(folder) if files else ()
    below = tuple(name for name in known if name.endswith("/"))
    names = sorted(str(path.relative_to(folder)) for path in files)
    foreign = [name for name in names if name not in known and not name.startswith(below)]
    if foreign or (folder.exists() and not folder.is_dir()):
        what = f"has {foreign[0]}, which this program has not written" if foreign else "is a file"
        raise PublishError(f"{folder} {what}: move it away, or choose another folder with --output")


@contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # released by the kernel when the process ends
        yield
    finally:
        os.close(descriptor)
