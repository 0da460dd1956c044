"""Stage 6: retrieval methods are scored on the exported benchmarks."""

import time
from collections.abc import Iterator
from pathlib import Path

from prefect.logging import get_run_logger

from infra.identity import digest, digest_of_set
from infra.settings import Settings
from infra.store import Database, benchmarks, open_database
from infra.store.benchmarks import Evaluation, Published
from infra.store.corpus import StoredCollection
from tasks.benchmarks import Benchmark, qrels_of, write_run
from tasks.metrics import STANDARD, evaluate
from tasks.ranking.methods import Ranker, identity
from tasks.runtime.caching import run_stage, stage
from tasks.stages.labels import label_origins, labelled_benchmark, published_as
from tasks.stages.rerank import reranker
from tasks.stages.vectors import CollectionVectors


class Export:
    """A published benchmark with its content, loaded once for all methods.

    No record, since Prefect would look for futures in each of its texts.
    """

    def __init__(self, published: Published, benchmark: Benchmark) -> None:
        self.published = published
        self.benchmark = benchmark


def exports(collection: StoredCollection, settings: Settings) -> Iterator[Export]:
    """Yield the exports of a collection as it is now, one after the other."""
    database = open_database(settings.store)
    for origin in label_origins(collection, settings):
        benchmark = labelled_benchmark(database, collection, origin, settings)
        published = published_as(benchmark, collection, settings.publish.folder)
        if benchmarks.find_benchmark(database, published.benchmark_id) == published:
            yield Export(published, benchmark)


def method_key(method: str, settings: Settings) -> str:
    """Return the identity of a method's scores: the method, its depth and the metrics."""
    depth = str(settings.evaluation.depth)
    return digest("scores", identity(method, settings.llm), depth, digest_of_set(STANDARD))


def evaluate_method(
    collection: StoredCollection, export: Export, method: str, settings: Settings
) -> Evaluation:
    """Rank a benchmark's codes for its queries by one method, store the run and its scores."""
    database, published = open_database(settings.store), export.published
    identity = method_key(method, settings)
    holds = stored_evaluation(database, published, method, identity) is not None
    key = digest("evaluate", database.store_id, published.benchmark_id, identity)
    return run_stage(
        _evaluate_method,
        holds,
        key=key,
        collection=collection,
        export=export,
        method=method,
        settings=settings,
    )


def stored_evaluation(
    database: Database, published: Published, method: str, identity: str
) -> Evaluation | None:
    """Return what the store holds of a method's evaluation, if its run file is there too."""
    if not (Path(published.folder) / "runs" / f"{method}.trec").exists():
        return None
    return benchmarks.find_evaluation(database, published.benchmark_id, identity)


@stage("evaluate", "evaluate-{export.published.name}-{method}")
def _evaluate_method(
    key: str,  # noqa: ARG001 - names the inputs for Prefect's cache
    collection: StoredCollection,
    export: Export,
    method: str,
    settings: Settings,
) -> Evaluation:
    benchmark, published = export.benchmark, export.published
    database, identity = open_database(settings.store), method_key(method, settings)
    if stored := stored_evaluation(database, published, method, identity):
        return stored
    started = time.monotonic()
    vectors = CollectionVectors(database, collection.name)
    ranker = Ranker(benchmark.queries, benchmark.codes, vectors, reranker(benchmark, settings))
    rankings = ranker.rank(method, settings.evaluation.depth)
    scores = evaluate(rankings, qrels_of(benchmark.labels), STANDARD)
    write_run(Path(published.folder), method, rankings.rows())
    evaluation = Evaluation(
        benchmark_id=published.benchmark_id,
        method=method,
        method_key=identity,
        depth=settings.evaluation.depth,
        seconds=time.monotonic() - started,
    )
    benchmarks.add_scores(database, evaluation, scores)
    run = benchmarks.StageRun(
        collection=collection.name,
        stage=f"evaluate {method}",
        items=len(benchmark.queries),
        seconds=evaluation.seconds,
    )
    benchmarks.record_stage_run(database, run)
    get_run_logger().info("%s on %s: %.1f s", method, published.name, evaluation.seconds)
    return evaluation
