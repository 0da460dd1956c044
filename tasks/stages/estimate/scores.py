"""The estimate of one method's scores, computed once and kept in the store."""

from dataclasses import replace

from prefect.logging import get_run_logger

from infra.errors import StoreError
from infra.identity import digest
from infra.settings import Settings
from infra.store import Database, benchmarks
from infra.store.benchmarks import StoredEstimation
from tasks.estimation.records import MethodEstimate
from tasks.estimation.unlabelled import confidence_of, estimate_scores
from tasks.runtime.caching import VECTORS_AWAY, Parameters, stage
from tasks.stages.embed import encoder_key
from tasks.stages.estimate.inputs import EstimationInput
from tasks.stages.estimate.judged import JudgedQueries
from tasks.stages.scoring import OpenBenchmark, Run, method_key
from tasks.stages.vectors import TextVectors

KIND = "estimate"
_VERSION = "5"  # to be raised when the same input is to give other figures


def estimation_id(
    inputs: EstimationInput, method: str, settings: Settings, benchmark: OpenBenchmark | None
) -> str:
    """Return the digest of all that a method's estimate depends on."""
    texts = (inputs.training.fingerprint, inputs.queries.fingerprint)
    how = settings.estimation.model_dump_json()
    judged = (
        (benchmark.benchmark_id, method_key(method, settings.evaluation.depth)) if benchmark else ()
    )
    return digest(KIND, _VERSION, method, encoder_key(method), *texts, how, *judged)


def _identity(p: Parameters) -> str:
    return estimation_id(p.inputs, p.method, p.settings, p.benchmark)


@stage(
    "estimate",
    "estimate the scores of {method} on {inputs.name}",
    key=lambda p: digest(p.database.store_id, _identity(p)),
    is_valid=lambda p: benchmarks.load_as(p.database, _identity(p), MethodEstimate) is not None,
    retries=VECTORS_AWAY,
)
def estimate_method(
    database: Database,
    inputs: EstimationInput,
    method: str,
    settings: Settings,
    benchmark: OpenBenchmark | None = None,
    run: Run | None = None,
) -> str:
    """Embed the texts, estimate the scores, store them; return the id of the estimate.

    Args:
        database: The store.
        inputs: Queries and training pairs.
        method: Name of an encoder.
        settings: How to embed and to estimate.
        benchmark: A benchmark of some of the queries.
        run: The method's rankings of that benchmark.

    Raises:
        EncoderError: The encoder cannot be loaded, or a worker died.
        EstimationError: A vector is not fit for a cosine, or no judged query is among the queries.
    """
    measures = settings.estimation.metrics
    judged = None
    if benchmark and run:
        judged = JudgedQueries(benchmark, inputs.queries).values(run, measures)
    vectors = TextVectors(inputs.name, database, settings.encoder, settings.ray)
    pairs = inputs.unseen if benchmark else inputs.training
    training = vectors.load_pairs(method, pairs)
    queries = vectors.load(method, "query", inputs.queries.texts)
    if benchmark and judged:
        judged_in = TextVectors(benchmark.name, database, settings.encoder, settings.ray)
        texts = [code.text for code in benchmark.content.codes]
        codes = judged_in.load(method, "code", texts)
        judged = replace(judged, confidence=confidence_of(queries, codes, training.similarity))
    estimate = estimate_scores(
        method, training, queries, judged, settings.estimation, get_run_logger().info
    )
    stored = StoredEstimation(
        estimation_id=estimation_id(inputs, method, settings, benchmark),
        kind=KIND,
        train=inputs.training.name,
        test=inputs.queries.name,
        method=method,
        method_key=encoder_key(method),
        body=estimate.model_dump(mode="json"),
    )
    benchmarks.save(database, stored)
    return stored.estimation_id


def load_estimate(database: Database, identity: str) -> MethodEstimate:
    """Return a stored estimate.

    Raises:
        StoreError: It is not in the store.
    """
    stored = benchmarks.load_as(database, identity, MethodEstimate)
    if stored is None:
        raise StoreError(f"estimate {identity} is not in the store: run the same command again")
    return stored
