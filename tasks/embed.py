"""Stage 2: every query and code of a collection gets a vector from every encoder."""

import time
from collections.abc import Sequence
from typing import TypeVar

from prefect.logging import get_run_logger

from infra.identity import digest, digest_of_set
from infra.ray_runtime import ensure_ray
from infra.records import Record
from infra.settings import EncoderSettings, RaySettings, StoreSettings
from infra.store import Database, benchmarks, open_database, vectors
from infra.store.corpus import StoredCollection
from tasks.encoders import Kind, encoders
from tasks.progress import Progress, progress
from tasks.stage import run_stage, stage
from tasks.vector_files import write_vectors

T = TypeVar("T")
KINDS: tuple[Kind, ...] = ("query", "code")


class Embedding(Record):
    """What to embed with what."""

    collection: StoredCollection
    encoder: str
    kind: Kind


def embed(
    store: StoreSettings,
    work: Embedding,
    encoder: EncoderSettings,
    ray: RaySettings,
) -> int:
    """Give every item of a kind its vector; return how many were missing.

    Raises:
        UnknownNameError: There is no such encoder.
        EncoderError: Its checkpoint cannot be loaded, or a worker died.
    """
    database = open_database(store)
    _forget_lost_files(database, work)
    missing = len(_missing(database, work))
    key = digest("embed", database.store_id, work.model_dump_json(), encoder_key(work.encoder))
    return run_stage(
        _embed, missing == 0, key=key, store=store, work=work, encoder=encoder, ray=ray
    )


def encoder_key(encoder: str) -> str:
    """Return the identity of an encoder: vectors of another key are not its own."""
    return encoders.get(encoder).spec.key


@stage("embed", "embed-{work.collection.name}-{work.encoder}-{work.kind}")
def _embed(
    key: str,  # noqa: ARG001 - names the inputs for Prefect's cache
    store: StoreSettings,
    work: Embedding,
    encoder: EncoderSettings,
    ray: RaySettings,
) -> int:
    database = open_database(store)
    items = _missing(database, work)
    logger = get_run_logger()
    if not items:
        logger.info("all %s have their vectors", _described(work))
        return 0
    started = time.monotonic()
    logger.info("%s of %s to embed", f"{len(items):,}", _described(work))
    shards = cut(items, encoder.shard_size)
    ensure_ray(ray)
    with progress("embedding", f"{_described(work)} embedded", len(items)) as bar:
        _embed_shards(database, work, shards, encoder, bar)
    benchmarks.record_stage_run(
        database,
        benchmarks.StageRun(
            collection=work.collection.name,
            stage=f"embed {work.kind} {work.encoder}",
            items=len(items),
            seconds=time.monotonic() - started,
        ),
    )
    return len(items)


def _embed_shards(
    database: Database,
    work: Embedding,
    shards: Sequence[Sequence[tuple[str, str]]],
    settings: EncoderSettings,
    bar: Progress,
) -> None:
    # Ray takes seconds to import, and a run that finds every vector in place needs none of it.
    from tasks.ray_workers import embed_shards  # noqa: PLC0415

    key = encoder_key(work.encoder)
    texts = [[text for _, text in shard] for shard in shards]
    for number, shard_vectors in embed_shards(work.encoder, work.kind, texts, settings):
        ids = [item for item, _ in shards[number]]
        file = f"{work.encoder}-{key}/{work.kind}-{digest_of_set(ids)}.parquet"
        write_vectors(database.settings.vectors / file, ids, shard_vectors)
        vectors.record_file(database, key, work.kind, file, ids)
        bar.advance(len(ids))


def _missing(database: Database, work: Embedding) -> list[tuple[str, str]]:
    return vectors.items_without_vector(
        database, work.collection.name, encoder_key(work.encoder), work.kind
    )


def _forget_lost_files(database: Database, work: Embedding) -> None:
    key = encoder_key(work.encoder)
    for file in vectors.files_of(database, work.collection.name, key, work.kind):
        if not (database.settings.vectors / file).exists():
            get_run_logger().warning("%s is gone: its items are embedded again", file)
            vectors.forget_file(database, file)


def _described(work: Embedding) -> str:
    plural = {"query": "queries", "code": "codes"}[work.kind]
    return f"{plural} of {work.collection.name} by {work.encoder}"


def cut(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Return the items in consecutive pieces of at most ``size``."""
    return [items[start : start + size] for start in range(0, len(items), size)]
