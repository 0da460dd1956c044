"""Benchmarks and exports as the releases before schema version 10 made them, with shorter ids."""

import json
from pathlib import Path

from infra.identity import MARK_DIGITS, former_id
from tasks.benchmarks import Benchmark, Manifest, benchmark_fingerprint, write_benchmark
from tasks.benchmarks.benchmark import Item, digest_of_records
from tasks.benchmarks.evidence import RecordedAnnotations
from tasks.benchmarks.manifest import MANIFEST


def with_former_ids(benchmark: Benchmark) -> Benchmark:
    """Return a benchmark with the ids that its queries and codes had."""
    kinds = ("queries", "codes", "labels", "undecided")
    return benchmark.model_copy(
        update={kind: tuple(map(_former, getattr(benchmark, kind))) for kind in kinds}
        | {"evidence": RecordedAnnotations(tuple(map(_former, benchmark.evidence)))}
        | {"splits": {former_id(query): part for query, part in benchmark.splits.items()}}
    )


def _former(record: Item) -> Item:
    names = {"query_id", "code_id"} & type(record).model_fields.keys()
    return record.model_copy(update={name: former_id(getattr(record, name)) for name in names})


def write_former(benchmark: Benchmark, folder: Path) -> Manifest:
    """Write the export of such a benchmark, with the fingerprint that it had."""
    former = with_former_ids(benchmark)
    manifest = write_benchmark(former, folder, allow_demo=True)
    fingerprint = benchmark_fingerprint(former, digits=MARK_DIGITS)
    body = json.loads((folder / MANIFEST).read_text())
    body |= {"fingerprint": fingerprint}
    if former.undecided:
        body |= {"undecided_digest": digest_of_records(former.undecided, MARK_DIGITS)}
    (folder / MANIFEST).write_text(json.dumps(body))
    return manifest.model_copy(update={"fingerprint": fingerprint})
