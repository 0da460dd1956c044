"""The estimate of one method's scores, computed once and kept in the store."""

from infra.errors import StoreError
from infra.identity import digest
from infra.settings import Settings
from infra.store import Database, benchmarks
from infra.store.benchmarks import StoredEstimation
from tasks.estimation.unlabelled import MethodEstimate, estimate_scores
from tasks.runtime.caching import VECTORS_AWAY, Parameters, stage
from tasks.stages.embed import encoder_key
from tasks.stages.estimate.inputs import EstimationInput
from tasks.stages.vectors import TextVectors

KIND = "estimate"
_VERSION = "6"  # to be raised when the same input is to give other figures


def _identity(inputs: EstimationInput, method: str, settings: Settings) -> str:
    """Return the digest of all that a method's estimate depends on."""
    texts = (inputs.training.fingerprint, inputs.queries.fingerprint)
    how = settings.estimation.model_dump_json()
    return digest(KIND, _VERSION, method, encoder_key(method), *texts, how)


def _key(p: Parameters) -> str:
    return _identity(p.inputs, p.method, p.settings)


@stage(
    "estimate",
    "estimate the scores of {method} on {inputs.name}",
    key=lambda p: digest(p.database.store_id, _key(p)),
    is_valid=lambda p: benchmarks.load_as(p.database, _key(p), MethodEstimate) is not None,
    retries=VECTORS_AWAY,
)
def estimate_method(
    database: Database, inputs: EstimationInput, method: str, settings: Settings
) -> str:
    """Embed the texts, estimate the scores, store them; return the id of the estimate.

    Args:
        database: The store.
        inputs: Queries and training pairs.
        method: Name of an encoder.
        settings: How to embed and to estimate.

    Raises:
        EncoderError: The encoder cannot be loaded, or a worker died.
        EstimationError: A vector is not fit for a cosine.
    """
    vectors = TextVectors(inputs.name, database, settings.encoder, settings.ray)
    training = vectors.load_pairs(method, inputs.training)
    queries = vectors.load(method, "query", inputs.queries.texts)
    estimate = estimate_scores(method, training, queries, settings.estimation)
    stored = StoredEstimation(
        estimation_id=_identity(inputs, method, settings),
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
