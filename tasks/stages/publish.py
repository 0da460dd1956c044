"""Stage 5, publish: exports of benchmarks, one for each origin of labels."""

import time
from collections.abc import Sequence
from pathlib import Path

from prefect import task
from prefect.logging import get_run_logger

from infra.settings import PublishSettings
from infra.store import Database, benchmarks
from infra.store.benchmarks import Published
from tasks.benchmarks import Manifest, is_export, read_manifest, write_benchmark
from tasks.benchmarks.redistribution import UNLICENSED, without_unlicensed
from tasks.stages.labels import LabelSet, labelled_benchmark


@task(
    name="publish",
    task_run_name="publish-{labels.collection.name}-{labels.origin}",
    tags=["publish"],
)
def publish_benchmark(
    database: Database, labels: LabelSet, settings: PublishSettings
) -> Published | None:
    """Export the benchmark of a label set.

    Returns:
        The export, or None without labels.

    Raises:
        PublishError: The labels contradict one another or the folder has other content.
    """
    logger, started = get_run_logger(), time.monotonic()
    benchmark = labelled_benchmark(database, labels, settings)
    if not settings.include_unlicensed:
        benchmark = without_unlicensed(benchmark)
        if left_out := benchmark.dropped.get(UNLICENSED):
            logger.warning(
                "%s is published without %s codes whose licence is unknown or does not permit "
                "redistribution, and without their labels; --include-unlicensed exports them too",
                benchmark.name, f"{left_out:,}",
            )  # fmt: skip
    if not benchmark.labels:
        logger.warning("%s has no labels: nothing to export", benchmark.name)
        return None
    manifest = write_benchmark(
        benchmark,
        _folder(labels, settings),
        allow_demo=settings.allow_demo,
        include_undecided=settings.include_undecided,
    )
    published = _reference(labels, manifest, settings)
    unchanged = benchmarks.find_benchmark(database, published.benchmark_id) == published
    logger.info(
        "%s: %s (%s)",
        published.folder,
        "unchanged" if unchanged else "written",
        manifest.counts | manifest.splits,
    )
    if not unchanged:
        benchmarks.record_benchmark(database, published)
        run = benchmarks.StageRun(
            collection=labels.collection.name,
            stage=f"publish {benchmark.name}",
            items=len(benchmark.labels),
            seconds=time.monotonic() - started,
            codes=len(benchmark.codes),
        )
        benchmarks.record_stage_run(database, run)
    return published


def published_benchmarks(labels: Sequence[LabelSet], settings: PublishSettings) -> list[Published]:
    """Return the exports of these label sets that are in the folder of benchmarks."""
    exports = []
    for item in labels:
        folder = _folder(item, settings)
        if is_export(folder) and (manifest := read_manifest(folder)).label_origin == item.origin:
            exports.append(_reference(item, manifest, settings))
        else:
            get_run_logger().warning(
                "the labels by %s of %s are not exported yet: run `cosqa publish` to score methods "
                "on them", item.origin, item.collection.name,
            )  # fmt: skip
    return exports


def _folder(labels: LabelSet, settings: PublishSettings) -> Path:
    return settings.folder.resolve() / labels.name


def _reference(labels: LabelSet, manifest: Manifest, settings: PublishSettings) -> Published:
    return Published(
        benchmark_id=manifest.fingerprint,
        name=labels.name,
        collection=labels.collection.name,
        label_origin=labels.origin,
        demo=manifest.demo,
        folder=str(_folder(labels, settings)),
    )
