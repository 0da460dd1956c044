"""The estimate of one method's scores."""

from infra.identity import digest
from infra.settings import Settings
from infra.store import Database
from tasks.estimation.unlabelled import MethodEstimate, estimate_scores
from tasks.runtime.caching import VECTORS_AWAY, stage
from tasks.stages.embed import encoder_key
from tasks.stages.estimate.inputs import EstimationInput
from tasks.stages.vectors import TextVectors

_VERSION = "6"  # to be raised when the same input is to give other figures


@stage(
    "estimate",
    "estimate the scores of {method} on {inputs.name}",
    key=lambda p: digest(
        *("estimate", _VERSION, p.database.store_id, p.method, encoder_key(p.method)),
        *(p.inputs.identity, p.settings.estimation.model_dump_json()),
    ),
    retries=VECTORS_AWAY,  # and no `is_valid`: the result holds all there is
)
def estimate_method(
    database: Database, inputs: EstimationInput, method: str, settings: Settings
) -> MethodEstimate:
    """Embed the texts, and return the estimated scores.

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
    return estimate_scores(method, training, queries, settings.estimation)
