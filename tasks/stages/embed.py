"""Stage 2: every query and code of a collection gets a vector from every encoder."""

import time
from collections.abc import Sequence

from prefect.logging import get_run_logger

from infra.batches import batched
from infra.identity import digest, digest_of_set
from infra.ray import ensure_ray
from infra.records import Record
from infra.settings import EncoderSettings, RaySettings
from infra.store import Database, benchmarks, vectors
from infra.store.corpus import StoredCollection
from infra.store.vector_files import Vectors, write_vectors
from tasks.encoders import Kind, encoders
from tasks.runtime.caching import Parameters, stage
from tasks.runtime.progress import progress

PLURAL: dict[Kind, str] = {"query": "queries", "code": "codes"}
KINDS: tuple[Kind, ...] = tuple(PLURAL)


class Part(Record):
    """The queries or the codes of a collection."""

    collection: str
    kind: Kind


class Shard(Record):
    """Texts that go to a worker together and end up in one file; ``items`` are (id, text)."""

    part: Part
    items: tuple[tuple[str, str], ...]


def encoder_key(encoder: str) -> str:
    """Return the identity of an encoder: vectors of another key are not its own."""
    return encoders.get(encoder).spec.key


def _parts(collections: Sequence[StoredCollection]) -> list[Part]:
    return [Part(collection=item.name, kind=kind) for item in collections for kind in KINDS]


def _is_embedded(p: Parameters) -> bool:
    with p.database.kept_open():
        return not any(
            _missing(p.database, part, p.encoder) or _lost_files(p.database, part, p.encoder)
            for part in _parts(p.collections)
        )


def _embedding_key(p: Parameters) -> str:
    fingerprints = digest_of_set(collection.fingerprint for collection in p.collections)
    return digest("embed", p.database.store_id, fingerprints, encoder_key(p.encoder))


@stage("embed", "embed-{encoder}", key=_embedding_key, holds=_is_embedded)
def embed(
    database: Database,
    collections: Sequence[StoredCollection],
    encoder: str,
    settings: EncoderSettings,
    ray: RaySettings,
) -> int:
    """Give every query and code of the collections its vector; return how many were missing.

    Raises:
        UnknownNameError: There is no such encoder.
        EncoderError: Its checkpoint cannot be loaded, or a worker died.
    """
    logger = get_run_logger()
    shards: list[Shard] = []
    taken: set[str] = set()  # collections may share items
    for part in _parts(collections):
        for file in _lost_files(database, part, encoder):
            logger.warning("%s is gone: its items are embedded again", file)
            vectors.forget_file(database, file)
        items = [item for item in _missing(database, part, encoder) if item[0] not in taken]
        taken.update(item for item, _ in items)
        logger.info("%s %s of %s to embed", f"{len(items):,}", PLURAL[part.kind], part.collection)
        shards += _cut_up(part, items, settings)
    _embed_shards(database, shards, encoder, settings, ray)
    return len(taken)


def _cut_up(part: Part, items: Sequence[tuple[str, str]], settings: EncoderSettings) -> list[Shard]:
    return [Shard(part=part, items=tuple(piece)) for piece in batched(items, settings.shard_size)]


def embed_items(
    database: Database,
    part: Part,
    items: Sequence[tuple[str, str]],
    encoder: str,
    settings: EncoderSettings,
    ray: RaySettings,
) -> None:
    """Embed texts that no collection needs to hold, and keep their vectors with the others.

    Args:
        database: The store.
        part: Under which name the work is logged, and whether these are queries or codes.
        items: (id, text)
        encoder: A registered encoder.
        settings: How many actors, and how large batches.
        ray: Where the actors run.
    """
    _embed_shards(database, _cut_up(part, items, settings), encoder, settings, ray)


def _embed_shards(
    database: Database,
    shards: Sequence[Shard],
    encoder: str,
    settings: EncoderSettings,
    ray: RaySettings,
) -> None:
    if not shards:
        return
    ensure_ray(ray)
    # Ray takes seconds to import, and a run that finds every vector in place needs none of it.
    from tasks.runtime.embedder import embed_shards  # noqa: PLC0415

    total = sum(len(shard.items) for shard in shards)
    texts = [(shard.part.kind, [text for _, text in shard.items]) for shard in shards]
    started = time.monotonic()
    with progress("embedding", f"texts embedded by {encoder}", total) as bar:
        for number, rows in embed_shards(encoder, texts, settings):
            _keep(database, shards[number], encoder, rows)
            bar.advance(len(rows))
    run = benchmarks.StageRun(
        collection=shards[0].part.collection,
        stage=f"embed with {encoder}",
        items=total,
        seconds=time.monotonic() - started,
    )
    benchmarks.record_stage_run(database, run)


def _keep(database: Database, shard: Shard, encoder: str, rows: Vectors) -> None:
    key, kind = encoder_key(encoder), shard.part.kind
    ids = [item for item, _ in shard.items]
    file = f"{encoder}-{key}/{kind}-{digest_of_set(ids)}.parquet"
    write_vectors(database.settings.vectors / file, ids, rows)
    vectors.record_file(database, key, kind, file, ids)


def _missing(database: Database, part: Part, encoder: str) -> list[tuple[str, str]]:
    return vectors.items_without_vector(database, part.collection, encoder_key(encoder), part.kind)


def _lost_files(database: Database, part: Part, encoder: str) -> list[str]:
    """Return the Parquet files of a part's vectors that are no longer in the store's folder."""
    files = vectors.file_names(database, part.collection, encoder_key(encoder), part.kind)
    return [file for file in files if not (database.settings.vectors / file).exists()]
