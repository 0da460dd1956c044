"""Stage 6: retrieval methods are scored on the exported benchmarks."""

import time
from pathlib import Path

from prefect.logging import get_run_logger

from infra.identity import digest, digest_of_set
from infra.settings import EvaluationSettings, SearchSettings, Settings
from infra.store import Database, benchmarks, open_database
from infra.store.benchmarks import Evaluation, Published
from infra.store.corpus import StoredCollection
from tasks.candidates import code_blocks, stored_vectors
from tasks.embed import encoder_key
from tasks.encoders import encoders
from tasks.export import Benchmark, write_run
from tasks.metrics import evaluate, metrics
from tasks.publish import label_origins, labelled_benchmark, published_as
from tasks.retrievers import Rankings, retrievers
from tasks.stage import run_stage, stage


def published_benchmarks(
    collection: StoredCollection, settings: Settings
) -> list[tuple[Published, str]]:
    """Return the exports of a collection as it is now, each with the origin of its labels."""
    database = open_database(settings.store)
    found = []
    for origin in label_origins(collection, settings):
        benchmark = labelled_benchmark(database, collection, origin, settings)
        published = published_as(benchmark, collection, settings.publish.folder)
        if benchmarks.find_benchmark(database, published.benchmark_id) == published:
            found.append((published, origin))
    return found


def chosen_methods(evaluation: EvaluationSettings, search: SearchSettings) -> list[str]:
    """Return the methods to score: those asked for, else all lexical ones and the encoders.

    Raises:
        UnknownNameError: A method is neither a retriever nor an encoder.
    """
    if not evaluation.methods:
        return [*retrievers.names(), *search.encoders]
    for method in evaluation.methods:
        if method not in encoders.names():
            retrievers.get(method)
    return list(evaluation.methods)


def method_key(method: str, depth: int) -> str:
    """Return the identity of a method's scores: the method, its depth and the metrics."""
    encoder = encoder_key(method) if method in encoders.names() else ""
    return digest("method", method, encoder, str(depth), digest_of_set(metrics.names()))


def evaluate_method(
    collection: StoredCollection, published: Published, method: str, settings: Settings
) -> Evaluation:
    """Rank a benchmark's codes for its queries by one method, store the run and its scores."""
    database = open_database(settings.store)
    identity = method_key(method, settings.evaluation.depth)
    holds = benchmarks.is_evaluated(database, published.benchmark_id, identity)
    has_run = (Path(published.folder) / "runs" / f"{method}.trec").exists()
    key = digest("evaluate", database.store_id, published.benchmark_id, identity)
    return run_stage(
        _evaluate_method,
        holds and has_run,
        key=key,
        collection=collection,
        published=published,
        method=method,
        settings=settings,
    )


@stage("evaluate", "evaluate-{published.name}-{method}")
def _evaluate_method(
    key: str,  # noqa: ARG001 - names the inputs for Prefect's cache
    collection: StoredCollection,
    published: Published,
    method: str,
    settings: Settings,
) -> Evaluation:
    database = open_database(settings.store)
    started = time.monotonic()
    benchmark = labelled_benchmark(database, collection, published.label_origin, settings)
    rankings = rank(database, collection.name, benchmark, method, settings.evaluation.depth)
    qrels: dict[str, dict[str, float]] = {}
    for label in benchmark.labels:
        qrels.setdefault(label.query_id, {})[label.code_id] = label.relevance
    scores = evaluate(rankings, qrels, metrics.names())
    write_run(Path(published.folder), method, rankings.rows())
    evaluation = Evaluation(
        benchmark_id=published.benchmark_id,
        method=method,
        method_key=method_key(method, settings.evaluation.depth),
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


def rank(
    database: Database, collection: str, benchmark: Benchmark, method: str, depth: int
) -> Rankings:
    """Return a method's ranking of a benchmark's codes for each of its queries.

    Raises:
        UnknownNameError: There is no such method.
        StoreError: An encoder has not embedded the collection.
    """
    if method not in encoders.names():
        return retrievers.get(method)().rank(benchmark.queries, benchmark.codes, depth)
    from tasks.retrievers.exact import rank_vectors  # noqa: PLC0415 - brings FAISS along

    query_ids = sorted(query.query_id for query in benchmark.queries)
    vectors = stored_vectors(database, collection, method, "query").load(query_ids)
    blocks = ((ids, rows[method]) for ids, rows in code_blocks(database, collection, [method]))
    return rank_vectors(vectors, blocks, query_ids, depth)
