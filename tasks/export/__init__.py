"""Benchmarks as files: Parquet, BEIR's folder, a manifest with checksums and a dataset card."""

from tasks.export.beir import write_run
from tasks.export.benchmark import Benchmark, Undecided, benchmark_fingerprint, qrels_of
from tasks.export.manifest import ExportedFile, Manifest, read_manifest, verify_export
from tasks.export.reader import is_export, read_benchmark
from tasks.export.writer import write_benchmark

__all__ = [
    "Benchmark",
    "ExportedFile",
    "Manifest",
    "Undecided",
    "benchmark_fingerprint",
    "is_export",
    "qrels_of",
    "read_benchmark",
    "read_manifest",
    "verify_export",
    "write_benchmark",
    "write_run",
]
