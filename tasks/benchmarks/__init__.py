"""A benchmark as data and as files.

``benchmark``, ``qrels`` and ``runs`` are the data: queries, codes, labels (records in columns:
``rows``) and their ``evidence``, a stream; relevance judgements; rankings. ``writer`` and
``reader`` handle an exported folder (Parquet ``tables`` with their ``schemas``, ``manifest`` with
checksums, dataset ``card``); ``beir``, ``trec`` and ``mteb`` are the formats of other evaluation
tools; ``labelled_pairs`` and ``sheets`` read people's votes; ``pairs`` reads what
models are trained on.
"""

from tasks.benchmarks.benchmark import (
    Benchmark,
    LabelRecipe,
    benchmark_fingerprint,
    columns_of,
    qrels_of,
)
from tasks.benchmarks.evidence import AnnotationStream, RecordedAnnotations
from tasks.benchmarks.manifest import Manifest, read_manifest, verify_export
from tasks.benchmarks.reader import (
    is_export,
    read_benchmark,
    read_exported,
)
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
    "read_benchmark",
    "read_exported",
    "read_manifest",
    "verify_export",
    "write_benchmark",
    "write_run",
]
