"""What a faster dtype costs: how far an encoder's vectors agree with those of float32."""

from collections.abc import Sequence

from infra.settings import EncoderSettings, RaySettings
from infra.store import Database, vectors
from infra.store.corpus import StoredCollection
from tasks.encoders import Vectors, split_dtype
from tasks.encoders._agreement import Agreement, agreement
from tasks.runtime.run_logger import run_logger
from tasks.stages.embed import KINDS
from tasks.stages.vectors import TextVectors

_SAMPLE = {"query": 100, "code": 1000}


def report_agreement(
    database: Database,
    collection: StoredCollection,
    encoder: str,
    settings: EncoderSettings,
    ray: RaySettings,
) -> Agreement | None:
    """Log and return how far an encoder agrees with float32; None for one that is float32.

    A sample of the collection is compared: 100 queries and 1,000 codes, the first by their ids,
    which are digests. Their vectors in float32 are computed once, and stored like any others.

    Raises:
        EncoderError: The encoder in float32 cannot be loaded, or a worker died.
    """
    base, dtype = split_dtype(encoder)
    if dtype == "float32":
        return None
    texts = TextVectors(collection.name, database, settings, ray)
    samples = {
        kind: vectors.load_texts(
            database, kind, vectors.member_ids(database, [collection.name], kind)[: _SAMPLE[kind]]
        )
        for kind in KINDS
    }

    def load(name: str) -> tuple[Vectors, Vectors]:
        loaded: Sequence[Vectors] = [texts.load(name, kind, samples[kind]) for kind in KINDS]
        return loaded[0], loaded[1]

    if not all(samples.values()):
        return None
    found = agreement(load(base), load(encoder))
    run_logger(__name__).info("%s against %s: %s", encoder, base, found)
    return found
