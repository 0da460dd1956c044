"""A benchmark as data and as files.

``benchmark`` and ``runs`` are the data: queries, codes, labels (records in columns: ``rows``) and
their ``evidence``, a stream; rankings and relevance judgements. ``writer`` makes an exported folder
(Parquet tables, ``manifest`` with checksums, dataset ``card``); ``interchange`` and ``trec`` write
what other evaluation tools read. `tasks.inputs` reads all of it.
"""

from tasks.benchmarks.benchmark import (
    Benchmark,
    LabelRecipe,
    benchmark_fingerprint,
    columns_of,
    qrels_of,
)
from tasks.benchmarks.evidence import AnnotationStream, RecordedAnnotations
from tasks.benchmarks.manifest import Manifest, is_export, read_manifest, verify_export
from tasks.benchmarks.rows import LabelledPair, QuerySpecification, Rows, Undecided
from tasks.benchmarks.trec import write_run
from tasks.benchmarks.writer import write_benchmark

__all__ = [
    "AnnotationStream",
    "Benchmark",
    "LabelRecipe",
    "LabelledPair",
    "Manifest",
    "QuerySpecification",
    "RecordedAnnotations",
    "Rows",
    "Undecided",
    "benchmark_fingerprint",
    "columns_of",
    "is_export",
    "qrels_of",
    "read_manifest",
    "verify_export",
    "write_benchmark",
    "write_run",
]
