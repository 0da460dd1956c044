"""Labels that a benchmark loses when it is published over an earlier export."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from prefect.logging import get_run_logger

from infra.errors import PublishError
from infra.settings import PublishSettings
from infra.store import Database
from infra.store.evidence import LEFT_OUT, why_lost
from tasks.benchmarks import Benchmark, columns_of
from tasks.benchmarks.benchmark import GENERATED
from tasks.benchmarks.reader import read_exported
from tasks.benchmarks.redistribution import UNLICENSED
from tasks.stages.labels import LabelSet, current_labels

_PAIR = ["query_id", "code_id"]
_WRITTEN = "the written answer is not exported any more"


def removed_labels(
    database: Database,
    labels: LabelSet,
    benchmark: Benchmark,
    folder: Path,
    settings: PublishSettings,
) -> dict[str, int]:
    """Return reason → labelled pairs of the export in a folder that a benchmark does not label.

    They are logged, too: a benchmark is never published smaller without a word.

    Args:
        database: The store.
        labels: The labels.
        benchmark: What is going to be exported.
        folder: Where; an export that is damaged or of another format counts as none.
        settings: What labels of the agents must rest on.
    """
    lost = _lost(benchmark, folder)
    written = pc.starts_with(lost["origin"], GENERATED)
    others = lost.filter(pc.invert(written)).select(_PAIR)
    reasons = Counter({_WRITTEN: lost.num_rows - others.num_rows})
    if others.num_rows:
        current = current_labels(database, labels, settings.support) if labels.rounds else None
        reasons.update(why_lost(database, others, labels.collection.name, current))
    if not settings.include_unlicensed:
        reasons[UNLICENSED] = reasons.pop(LEFT_OUT, 0)
    removed = dict(sorted((+reasons).items()))
    if removed:
        listed = ", ".join(f"{reason} ({number:,})" for reason, number in removed.items())
        get_run_logger().warning(
            "%s loses %s labelled pairs of its last export: %s",
            labels.name, f"{lost.num_rows:,}", listed,
        )  # fmt: skip
    return removed


def _lost(benchmark: Benchmark, folder: Path) -> pa.Table:
    """Return the pairs, with their origin, that an export labels and a benchmark does not."""
    columns = [*_PAIR, "origin"]
    now = columns_of(benchmark).labels.table.select(columns)
    try:
        before = read_exported(folder, "labels", columns)
    except PublishError:
        return now.slice(0, 0)
    return before.join(now, _PAIR, join_type="left anti")
