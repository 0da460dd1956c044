"""What a faster dtype costs: how far an encoder's vectors agree with those of float32."""

from collections.abc import Sequence

from infra.identity import digest
from infra.settings import EncoderSettings, RaySettings
from infra.store import Database, vectors
from infra.store.corpus import StoredCollection
from tasks.encoders import Vectors, split_dtype
from tasks.runtime.caching import VECTORS_AWAY, Parameters, stage
from tasks.runtime.run_logger import run_logger
from tasks.search.agreement import agreement
from tasks.stages.embed import KINDS, encoder_key
from tasks.stages.vectors import TextVectors

_SAMPLE = {"query": 100, "code": 1000}


def _key(p: Parameters) -> str:
    fingerprint = p.collection.fingerprint
    return digest("agreement", p.database.store_id, fingerprint, encoder_key(p.encoder))


@stage(
    "agreement",
    "compare {encoder} with float32 on {collection.name}",
    key=_key,
    retries=VECTORS_AWAY,
)
def report_agreement(
    database: Database,
    collection: StoredCollection,
    encoder: str,
    settings: EncoderSettings,
    ray: RaySettings,
) -> str:
    """Log and return how far an encoder in another dtype agrees with itself in float32.

    A sample of the collection is compared: 100 queries and 1,000 codes, the first by their ids,
    which are digests. Their vectors in float32 are computed once, and stored like any others.

    Raises:
        EncoderError: The encoder in float32 cannot be loaded, or a worker died.
    """
    base, _ = split_dtype(encoder)
    texts = TextVectors(collection.name, database, settings, ray)
    samples = {
        kind: vectors.load_texts(
            database, kind, vectors.member_ids(database, [collection.name], kind)[: _SAMPLE[kind]]
        )
        for kind in KINDS
    }
    if not all(samples.values()):
        return "no queries or no codes to compare"

    def load(name: str) -> tuple[Vectors, Vectors]:
        loaded: Sequence[Vectors] = [texts.load(name, kind, samples[kind]) for kind in KINDS]
        return loaded[0], loaded[1]

    found = str(agreement(load(base), load(encoder)))
    run_logger(__name__).info("%s against %s: %s", encoder, base, found)
    return found
