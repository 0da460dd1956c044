"""Stage 5: the labels of one origin become an exported benchmark."""

import time
from pathlib import Path

from prefect import task
from prefect.logging import get_run_logger

from infra.settings import Settings
from infra.store import benchmarks, open_database
from infra.store.benchmarks import Published
from infra.store.corpus import StoredCollection
from tasks.benchmarks import write_benchmark
from tasks.stages.labels import labelled_benchmark, published_as


@task(name="publish", task_run_name="publish-{collection.name}-{origin}", tags=["publish"])
def publish_benchmark(
    collection: StoredCollection, origin: str, settings: Settings
) -> Published | None:
    """Export the labels of one origin.

    Returns:
        The export, or None where there is nothing to export.

    Raises:
        PublishError: The labels contradict one another or the folder is somebody else's.
    """
    logger, database = get_run_logger(), open_database(settings.store)
    started = time.monotonic()
    benchmark = labelled_benchmark(database, collection, origin, settings)
    if not benchmark.labels:
        logger.warning("%s has no labels: nothing to export", benchmark.name)
        return None
    published = published_as(benchmark, collection, settings.publish.folder)
    known = benchmarks.find_benchmark(database, published.benchmark_id) == published
    manifest = write_benchmark(
        benchmark,
        Path(published.folder),
        allow_demo=settings.publish.allow_demo,
        include_undecided=settings.publish.include_undecided,
    )
    logger.info(
        "%s: %s (%s)", published.folder, "unchanged" if known else "written", manifest.counts
    )
    if not known:
        benchmarks.record_benchmark(database, published)
        run = benchmarks.StageRun(
            collection=collection.name,
            stage=f"publish {benchmark.name}",
            items=len(benchmark.labels),
            seconds=time.monotonic() - started,
        )
        benchmarks.record_stage_run(database, run)
    return published
