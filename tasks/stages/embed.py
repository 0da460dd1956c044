"""Stage 2, embed: a vector of every query and code of a collection by every encoder."""

import time
from collections.abc import Iterator, Sequence

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
    """Texts that one worker embeds into one file; ``items`` are (id, text)."""

    part: Part
    items: tuple[tuple[str, str], ...]


def encoder_key(encoder: str) -> str:
    """Return the digest of an encoder's specification, under which its vectors are stored."""
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


@stage("embed", "embed-{encoder}", key=_embedding_key, is_valid=_is_embedded)
def embed(
    database: Database,
    collections: Sequence[StoredCollection],
    encoder: str,
    settings: EncoderSettings,
    ray: RaySettings,
) -> int:
    """Embed all queries and codes without a vector; return how many there were.

    Raises:
        UnknownNameError: There is no such encoder.
        EncoderError: Its checkpoint cannot be loaded, or a worker died.
    """
    logger = get_run_logger()
    shards: list[Shard] = []
    seen: set[str] = set()  # collections may share items
    for part in _parts(collections):
        for file in _lost_files(database, part, encoder):
            logger.warning("%s is missing: its items are embedded again", file)
            vectors.delete_file(database, file)
        items = [item for item in _missing(database, part, encoder) if item[0] not in seen]
        seen.update(item for item, _ in items)
        logger.info("%s %s of %s to embed", f"{len(items):,}", PLURAL[part.kind], part.collection)
        shards += _split(part, items, settings)
    _embed_shards(database, shards, encoder, settings, ray)
    return len(seen)


def _split(part: Part, items: Sequence[tuple[str, str]], settings: EncoderSettings) -> list[Shard]:
    return [Shard(part=part, items=tuple(batch)) for batch in batched(items, settings.shard_size)]


def embed_items(
    database: Database,
    part: Part,
    items: Sequence[tuple[str, str]],
    encoder: str,
    settings: EncoderSettings,
    ray: RaySettings,
) -> None:
    """Embed and store vectors of texts, which need not be in a collection.

    Args:
        database: The store.
        part: The collection that the work is logged under, and queries or codes.
        items: (id, text)
        encoder: Name of a registered encoder.
        settings: Number of actors and size of batches.
        ray: The cluster of the actors.
    """
    _embed_shards(database, _split(part, items, settings), encoder, settings, ray)


def _embed_shards(
    database: Database,
    shards: Sequence[Shard],
    encoder: str,
    settings: EncoderSettings,
    ray: RaySettings,
) -> None:
    if not shards:
        return
    total = sum(len(shard.items) for shard in shards)
    texts = [(shard.part.kind, [text for _, text in shard.items]) for shard in shards]
    started = time.monotonic()
    with progress("embedding", f"texts embedded by {encoder}", total) as bar:
        for number, rows in _embedded(database, encoder, texts, settings, ray):
            _store_vectors(database, shards[number], encoder, rows)
            bar.advance(len(rows))
    run = benchmarks.StageRun(
        collection=shards[0].part.collection,
        stage=f"embed with {encoder}",
        items=total,
        seconds=time.monotonic() - started,
    )
    benchmarks.record_stage_run(database, run)


def _embedded(
    database: Database,
    encoder: str,
    shards: Sequence[tuple[Kind, Sequence[str]]],
    settings: EncoderSettings,
    ray: RaySettings,
) -> Iterator[tuple[int, Vectors]]:
    """Yield (number of the shard, its vectors), by an API or by actors."""
    # Both take seconds to import, and a run without new texts needs neither.
    if encoders.get(encoder).spec.is_api:
        from tasks.runtime.api_embedder import embed_shards_by_api  # noqa: PLC0415

        return embed_shards_by_api(encoder, shards, settings, database.settings)
    ensure_ray(ray)
    from tasks.runtime.embedder import embed_shards  # noqa: PLC0415

    return embed_shards(encoder, shards, settings)


def _store_vectors(database: Database, shard: Shard, encoder: str, rows: Vectors) -> None:
    key, kind = encoder_key(encoder), shard.part.kind
    ids = [item for item, _ in shard.items]
    name = encoders.get(encoder).spec.name
    file = f"{name}-{key}/{kind}-{digest_of_set(ids)}.parquet"
    write_vectors(database.settings.vectors / file, ids, rows)
    vectors.record_file(database, key, kind, file, ids)


def _missing(database: Database, part: Part, encoder: str) -> list[tuple[str, str]]:
    return vectors.items_without_vector(database, part.collection, encoder_key(encoder), part.kind)


def _lost_files(database: Database, part: Part, encoder: str) -> list[str]:
    """Return the Parquet files of a part's vectors that are missing from the store's folder."""
    files = vectors.file_names(database, part.collection, encoder_key(encoder), part.kind)
    return [file for file in files if not (database.settings.vectors / file).exists()]
