"""Stage 2: every query and code of a collection gets a vector from every encoder."""

import time
from collections.abc import Sequence

from prefect.logging import get_run_logger

from infra.batches import batched
from infra.identity import digest, digest_of_set
from infra.ray import ensure_ray
from infra.records import Record
from infra.settings import Settings
from infra.store import Database, benchmarks, open_database, vectors
from infra.store.corpus import StoredCollection
from infra.store.vector_files import Vectors, write_vectors
from tasks.encoders import Kind, encoders
from tasks.runtime.caching import run_stage, stage
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


def embed(settings: Settings, collections: Sequence[StoredCollection], encoder: str) -> int:
    """Give every query and code of the collections its vector; return how many were missing.

    Raises:
        UnknownNameError: There is no such encoder.
        EncoderError: Its checkpoint cannot be loaded, or a worker died.
    """
    database = open_database(settings.store)
    parts = [Part(collection=held.name, kind=kind) for held in collections for kind in KINDS]
    for part in parts:
        _forget_lost_files(database, part, encoder)
    holds = not any(_missing(database, part, encoder) for part in parts)
    fingerprints = digest_of_set(held.fingerprint for held in collections)
    key = digest("embed", database.store_id, fingerprints, encoder_key(encoder))
    return run_stage(_embed, holds, key=key, settings=settings, parts=parts, encoder=encoder)


def encoder_key(encoder: str) -> str:
    """Return the identity of an encoder: vectors of another key are not its own."""
    return encoders.get(encoder).spec.key


@stage("embed", "embed-{encoder}")
def _embed(
    key: str,  # noqa: ARG001 - names the inputs for Prefect's cache
    settings: Settings,
    parts: Sequence[Part],
    encoder: str,
) -> int:
    database, logger = open_database(settings.store), get_run_logger()
    shards: list[Shard] = []
    taken: set[str] = set()  # collections may share items
    for part in parts:
        items = [item for item in _missing(database, part, encoder) if item[0] not in taken]
        taken.update(item for item, _ in items)
        logger.info("%s %s of %s to embed", f"{len(items):,}", PLURAL[part.kind], part.collection)
        shards += [
            Shard(part=part, items=tuple(piece))
            for piece in batched(items, settings.encoder.shard_size)
        ]
    if shards:
        _embed_shards(database, shards, encoder, settings)
    return len(taken)


def embed_items(
    database: Database,
    part: Part,
    items: Sequence[tuple[str, str]],
    encoder: str,
    settings: Settings,
) -> None:
    """Embed texts that no collection needs to hold, and keep their vectors with the others.

    Args:
        database: The store.
        part: Under which name the work is logged, and whether these are queries or codes.
        items: (id, text)
        encoder: A registered encoder.
        settings: How many actors, and how large batches.
    """
    pieces = batched(items, settings.encoder.shard_size)
    shards = [Shard(part=part, items=tuple(piece)) for piece in pieces]
    if shards:
        _embed_shards(database, shards, encoder, settings)


def _embed_shards(
    database: Database, shards: Sequence[Shard], encoder: str, settings: Settings
) -> None:
    ensure_ray(settings.ray)
    # Ray takes seconds to import, and a run that finds every vector in place needs none of it.
    from tasks.runtime.embedder import embed_shards  # noqa: PLC0415

    total = sum(len(shard.items) for shard in shards)
    texts = [(shard.part.kind, [text for _, text in shard.items]) for shard in shards]
    started = time.monotonic()
    with progress("embedding", f"texts embedded by {encoder}", total) as bar:
        for number, rows in embed_shards(encoder, texts, settings.encoder):
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


def _forget_lost_files(database: Database, part: Part, encoder: str) -> None:
    for file in vectors.files_of(database, part.collection, encoder_key(encoder), part.kind):
        if not (database.settings.vectors / file).exists():
            get_run_logger().warning("%s is gone: its items are embedded again", file)
            vectors.forget_file(database, file)
