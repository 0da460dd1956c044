"""Stage 5, publish: exports of benchmarks, one for each origin of labels."""

from collections.abc import Sequence
from pathlib import Path

from infra.errors import PublishError
from infra.identity import digest, digest_of, program_digest
from infra.settings import PublishSettings
from infra.store import Database, benchmarks
from infra.store.benchmarks import Export, Published
from tasks.benchmarks import Manifest, is_export, read_manifest, write_benchmark
from tasks.benchmarks.benchmark import MAJORITY
from tasks.benchmarks.distractors import with_mutants
from tasks.benchmarks.licences import UNLICENSED, without_unlicensed
from tasks.benchmarks.manifest import state_of_export
from tasks.benchmarks.sealing import answers_file, seal_benchmark, write_answers
from tasks.reports.text import counted, tally
from tasks.runtime.caching import Parameters, stage
from tasks.runtime.progress import get_run_logger, run_logger
from tasks.runtime.references import CollectedSource
from tasks.stages.labels import (
    UNCOLLECTED,
    LabelSet,
    label_sets,
    labelled_benchmark,
    with_split,
)

# Modules that decide, next to the store and the settings, which files the same labels give.
_WRITERS = (
    *("tasks.benchmarks", "tasks.reports.text", "tasks.stages.publish", "tasks.stages.labels"),
    *("tasks.stages.coverage", "tasks.stages.specifications", "tasks.stages.annotate.gold"),
    *("infra.identity", "infra.records", "infra.summaries", "infra.text"),
    *("infra.languages", "infra.syntax"),  # which make mutants
    *("infra.store.annotations", "infra.store.candidates", "infra.store.corpus"),
    *("infra.store.evidence", "infra.store.generated", "infra.store.labels"),
    *("infra.store.samples", "infra.store.votes", "agents.roles.specify"),
)


def _export_key(p: Parameters) -> str:
    """Return the digests of an export's labels in the store, and of settings and program text.

    They are taken before the labels are read: what is stored meanwhile makes the next run read
    them.
    """
    chosen = digest_of(p.settings.model_dump(mode="json", exclude={"folder"}))
    program = program_digest(_WRITERS, ("cosqa-plus", "pyarrow"))
    return f"{_labels_digest(p.database, p.labels, p.settings)}-{digest('export', program, chosen)}"


def _labels_digest(database: Database, labels: LabelSet, settings: PublishSettings) -> str:
    state = benchmarks.state_of_labels(database, labels.collection.name, labels.current)
    folder = str(export_folder(labels, settings))
    return digest("labels", database.store_id, folder, labels.model_dump_json(), state)


def _unchanged_export(database: Database, folder: Path) -> Export | None:
    """Return the record of a folder's export, None if its files are not as they were written."""
    export = benchmarks.find_export(database, folder)
    if export is None or state_of_export(folder) != export.files:
        return None
    stored = benchmarks.find_benchmark(database, export.benchmark_id)
    is_known = stored is not None and stored.folder == export.folder
    seal = read_manifest(folder).sealed
    is_kept = seal is None or answers_file(folder, seal).is_file()
    return export if is_known and is_kept else None


def _is_exported(p: Parameters) -> bool:
    """Return True if the folder's files are as written with this key."""
    export = _unchanged_export(p.database, export_folder(p.labels, p.settings))
    return export is not None and export.input_digest == p.key


def has_present_labels(database: Database, labels: LabelSet, settings: PublishSettings) -> bool:
    """Return True if no label has changed since the export, which other settings may have made."""
    export = _unchanged_export(database, export_folder(labels, settings))
    if export is None:
        return False
    return export.input_digest.partition("-")[0] == _labels_digest(database, labels, settings)


@stage(
    "publish",
    "publish {labels.name}",
    key=_export_key,
    is_valid=_is_exported,
)
def publish_benchmark(
    database: Database, labels: LabelSet, settings: PublishSettings
) -> Published | None:
    """Export the benchmark of a label set, unless its folder is as it would be written.

    The cache knows this without reading labels: nothing that the export depends on has changed in
    the store or the settings since, and no file of it has another size or time.

    Returns:
        The export, or None without labels.
    """
    from prefect.transactions import get_transaction  # noqa: PLC0415 - takes a second

    published = _export(database, labels, settings)
    files = state_of_export(Path(published.folder)) if published else None
    running = get_transaction()  # whose key is of the state before labels were read
    if published and files is not None and running and running.key:
        export = Export(
            folder=published.folder,
            benchmark_id=published.benchmark_id,
            input_digest=running.key,
            files=files,
        )
        benchmarks.record_export(database, export)
    return published


def _export(database: Database, labels: LabelSet, settings: PublishSettings) -> Published | None:
    """Write the export of a label set and store its reference; an equal one is left as it is."""
    benchmark = labelled_benchmark(database, labels, settings)
    if not settings.include_unlicensed:
        benchmark = without_unlicensed(benchmark)
        if left_out := benchmark.dropped.get(UNLICENSED):
            get_run_logger().warning(
                "%s is published without %s whose licence is unknown or does not permit "
                "redistribution, and their labels: add a LICENSE file, or --include-unlicensed",
                benchmark.name, counted(left_out, "codes"),
            )  # fmt: skip
    benchmark = with_split(benchmark, settings)
    if not benchmark.labels:
        get_run_logger().warning("%s has no labels: nothing to export", benchmark.name)
        return None
    if gone := benchmark.dropped.get(UNCOLLECTED):
        get_run_logger().warning(
            "%s is published without %s of people whose query or code is no longer collected: the "
            "store keeps them, and publishes them once both are collected again",
            benchmark.name, counted(gone, "labels"),
        )  # fmt: skip
    folder = export_folder(labels, settings)
    if settings.sealed:
        salt = digest("salt", database.store_id, labels.name)  # as secret as the store
        benchmark, answers = seal_benchmark(benchmark, salt)
        file = write_answers(answers, folder)
        get_run_logger().info("%s: keep it, and publish it with nothing", file)
    if settings.mutants:
        benchmark = with_mutants(benchmark, settings.mutants)
    manifest = write_benchmark(benchmark, folder, include_undecided=settings.include_undecided)
    published = _reference(labels, manifest, settings)
    unchanged = benchmarks.find_benchmark(database, published.benchmark_id) == published
    state = "is as it was" if unchanged else "is written"
    counts = tally(manifest.counts | manifest.splits)
    get_run_logger().info("%s %s: %s", published.folder, state, counts)
    if not unchanged:
        benchmarks.record_benchmark(database, published)
    return published


def nothing_exported(
    database: Database, sets: Sequence[LabelSet], settings: PublishSettings, collection: str
) -> PublishError:
    """Return the error of a run that has no benchmark: which step gave nothing, and the way out."""
    benchmarks = [labelled_benchmark(database, each, settings) for each in sets]
    labelled = [each for each in benchmarks if each.labels]
    if not labelled and any(UNCOLLECTED in each.dropped for each in benchmarks):
        reason = (
            "people labelled only pairs whose query or code is no longer collected: collect them "
            "again, with the queries and code of then"
        )
    elif not labelled and settings.labels == "people":
        reason = (
            "no pair of it has a majority of people: `cosqa label sample` gives them sheets, or "
            "leave --labels people out"
        )
    elif not benchmarks:
        reason = (
            "no pair of it is judged: run `cosqa annotate`, with --reason failed where pairs "
            "failed, or `cosqa publish --labels people` where people labelled a sample"
        )
    elif not labelled:
        failed = sum(each.failed for each in benchmarks)
        reason = (
            f"its judged pairs have no label ({counted(failed, 'pairs')} failed): run "
            "`cosqa annotate --reason failed`, or export labels of more kinds (publish.support)"
        )
    elif settings.include_unlicensed or any(without_unlicensed(each).labels for each in labelled):
        reason = "its labels are not exported yet: run `cosqa publish`"
    else:
        reason = (
            "the licence of all code with a label is unknown or does not permit redistribution: "
            "add a LICENSE to its folder or repository, or give --include-unlicensed for private "
            "use"
        )
    return PublishError(f"there is no benchmark of {collection}: {reason}")


def sets_to_score(
    database: Database, source: CollectedSource, settings: PublishSettings
) -> list[LabelSet]:
    """Return the label sets whose exports are scored.

    People's, where no agent has judged, are among them if they are asked for or exported already.
    """
    return [
        each
        for each in label_sets(database, source)
        if each.origin != MAJORITY
        or settings.labels != "agents"
        or is_export(export_folder(each, settings))
    ]


def published_benchmarks(labels: Sequence[LabelSet], settings: PublishSettings) -> list[Published]:
    """Return the exports of these label sets that are in the folder of benchmarks.

    The agents' export may be by a recipe that was in use before: its labels are compatible.
    """
    exports = []
    logger = run_logger(__name__)
    for item in labels:
        folder = export_folder(item, settings)
        origins = {item.origin, *(item.current.origins if item.current else ())}
        manifest = read_manifest(folder) if is_export(folder) else None
        if manifest is None or manifest.label_origin not in origins:
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


def export_folder(labels: LabelSet, settings: PublishSettings) -> Path:
    """Return the folder of a set of labels."""
    return settings.folder.resolve() / labels.name


def _reference(labels: LabelSet, manifest: Manifest, settings: PublishSettings) -> Published:
    return Published(
        benchmark_id=manifest.fingerprint,
        name=labels.name,
        collection=labels.collection.name,
        label_origin=manifest.label_origin,
        folder=str(export_folder(labels, settings)),
    )
