"""Stage 5, publish: exports of benchmarks, one for each origin of labels."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from prefect import task
from prefect.logging import get_run_logger

from infra.identity import digest, digest_of
from infra.program import program_digest
from infra.settings import PublishSettings
from infra.store import Database, benchmarks, exports
from infra.store.benchmarks import Published
from infra.store.exports import Export
from tasks.benchmarks import Manifest, is_export, read_manifest, write_benchmark
from tasks.benchmarks.manifest import state_of_export
from tasks.benchmarks.redistribution import UNLICENSED, without_unlicensed
from tasks.runtime import run_events
from tasks.stages.labels import LabelSet, current_labels, labelled_benchmark, with_split
from tasks.stages.removed_labels import removed_labels

# What decides, beside the store and the settings, which files the same labels give.
_WRITERS = (
    *("tasks.benchmarks", "tasks.stages.labels", "tasks.stages.answers"),
    *(
        "tasks.stages.annotate.confidence",
        "tasks.statistics.dawid_skene",
        "tasks.statistics.calibration",
    ),
    *("tasks.stages.coverage", "infra.store.coverage", "infra.store.standing"),
    *("infra.store.ballots", "infra.store.posteriors"),
    *("infra.store.decided", "infra.store.evidence", "infra.records"),
    *("tasks.stages.specifications", "infra.store.specifications", "agents.roles.specifier"),
)


@task(
    name="publish",
    task_run_name="publish {labels.collection.name} with labels by {labels.origin}",
    tags=["publish"],
)
def publish_benchmark(
    database: Database, labels: LabelSet, settings: PublishSettings
) -> Published | None:
    """Export the benchmark of a label set, unless its folder is as it would be written.

    That it is, is seen without reading labels: nothing that the export depends on has changed in
    the store or the settings since, and no file of it has another size or time.

    Returns:
        The export, or None without labels.

    Raises:
        PublishError: The labels contradict one another or the folder has other content.
        DiskFullError: The disk is full; an older export is still whole.
    """
    stamp = _stamp(database, labels, settings)
    if published := _stamped(database, labels, settings, stamp):
        manifest = read_manifest(Path(published.folder))
        _warn_of_unlicensed(manifest.name, manifest.dropped)
        _log(published, manifest, "unchanged")
        return published
    published = _export(database, labels, settings)
    if published:
        _record_stamp(database, published, stamp)
    return published


def _export(database: Database, labels: LabelSet, settings: PublishSettings) -> Published | None:
    """Write the export of a label set and store its reference; an equal one is left as it is."""
    started = time.monotonic()
    benchmark = labelled_benchmark(database, labels, settings)
    if not settings.include_unlicensed:
        benchmark = without_unlicensed(benchmark)
        _warn_of_unlicensed(benchmark.name, benchmark.dropped)
    benchmark = with_split(benchmark, settings)
    if not benchmark.labels:
        get_run_logger().warning("%s has no labels: nothing to export", benchmark.name)
        return None
    folder = _folder(labels, settings)
    removed = removed_labels(database, labels, benchmark, folder, settings)
    manifest = write_benchmark(
        benchmark.model_copy(update={"removed": removed}),
        folder,
        allow_demo=settings.allow_demo,
        include_undecided=settings.include_undecided,
    )
    published = _reference(labels, manifest, settings)
    unchanged = benchmarks.find_benchmark(database, published.benchmark_id) == published
    _log(published, manifest, "unchanged" if unchanged else "written")
    if not unchanged:
        benchmarks.record_benchmark(database, published)
        run_events.benchmark_published(
            published.name, published.collection, {"folder": published.folder}
        )
        run = benchmarks.StageRun(
            collection=labels.collection.name,
            stage=f"publish {benchmark.name}",
            items=len(benchmark.labels),
            seconds=time.monotonic() - started,
            codes=len(benchmark.codes),
        )
        benchmarks.record_stage_run(database, run)
    return published


def _log(published: Published, manifest: Manifest, state: str) -> None:
    counts = manifest.counts | manifest.splits
    get_run_logger().info("%s: %s (%s)", published.folder, state, counts)


def _stamp(database: Database, labels: LabelSet, settings: PublishSettings) -> str:
    """Return the digest of all that an export depends on: store, settings and program text.

    It is taken before the labels are read: what is stored meanwhile makes the next run read them.
    """
    current = current_labels(database, labels, settings.support) if labels.rounds else None
    state = exports.state_of_labels(database, labels.collection.name, current)
    chosen = settings.model_dump(mode="json", exclude={"folder"})
    parts = (labels.model_dump_json(), digest_of(chosen), state)
    program = program_digest(_WRITERS, ("cosqa-plus", "pyarrow"))
    return digest("export", program, database.store_id, *parts)


def _stamped(
    database: Database, labels: LabelSet, settings: PublishSettings, stamp: str
) -> Published | None:
    """Return the export in the folder if it has this stamp and its files are as written."""
    folder = _folder(labels, settings)
    export = exports.find_export(database, folder)
    if export is None or export.stamp != stamp or not is_export(folder):
        return None
    if state_of_export(folder) != export.files:
        return None
    published = _reference(labels, read_manifest(folder), settings)
    stored = benchmarks.find_benchmark(database, export.benchmark_id)
    return published if stored == published else None


def _record_stamp(database: Database, published: Published, stamp: str) -> None:
    files = state_of_export(Path(published.folder))
    if files is not None:
        export = Export(
            folder=published.folder, benchmark_id=published.benchmark_id, stamp=stamp, files=files
        )
        exports.record_export(database, export)


def _warn_of_unlicensed(name: str, dropped: Mapping[str, int]) -> None:
    if left_out := dropped.get(UNLICENSED):
        get_run_logger().warning(
            "%s is published without %s codes whose licence is unknown or does not permit "
            "redistribution, and without their labels; --include-unlicensed exports them too",
            name, f"{left_out:,}",
        )  # fmt: skip


def published_benchmarks(
    database: Database, labels: Sequence[LabelSet], settings: PublishSettings
) -> list[Published]:
    """Return the exports of these label sets that are in the folder of benchmarks.

    That of the agents may be by a recipe that was in use before: its labels stand beside theirs.
    """
    exports = []
    logger = get_run_logger()
    for item in labels:
        folder = _folder(item, settings)
        manifest = read_manifest(folder) if is_export(folder) else None
        if manifest is None or manifest.label_origin not in _origins(database, item):
            logger.warning(
                "the labels by %s of %s are not exported yet: run `cosqa publish` to score methods "
                "on them", item.origin, item.collection.name,
            )  # fmt: skip
            continue
        if manifest.label_origin != item.origin:
            logger.info(
                "%s is the export of %s, in use before %s: `cosqa publish` brings it up to date",
                folder, manifest.label_origin, item.origin,
            )  # fmt: skip
        exports.append(_reference(item, manifest, settings))
    return exports


def _origins(database: Database, labels: LabelSet) -> set[str]:
    """Return the origin of labels, and those by comparable recipes that were in use before."""
    if not labels.rounds:
        return {labels.origin}
    return set(current_labels(database, labels).coverage.origins)


def _folder(labels: LabelSet, settings: PublishSettings) -> Path:
    return settings.folder.resolve() / labels.name


def _reference(labels: LabelSet, manifest: Manifest, settings: PublishSettings) -> Published:
    return Published(
        benchmark_id=manifest.fingerprint,
        name=labels.name,
        collection=labels.collection.name,
        label_origin=manifest.label_origin,
        demo=manifest.demo,
        folder=str(_folder(labels, settings)),
    )
