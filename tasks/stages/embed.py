"""Stage 2, embed: a vector of every query and code of a collection by every encoder."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from threading import Lock
from typing import NamedTuple

from infra.collected import StoredCollection
from infra.errors import CosqaError, EncoderError
from infra.identity import digest, digest_of_set
from infra.ray import ensure_ray
from infra.settings import EncoderSettings, RaySettings
from infra.store import Database, vectors
from tasks.encoders import EncoderSpec, Kind, encoders
from tasks.reports.text import counted
from tasks.runtime.artifacts import artifact_key
from tasks.runtime.caching import ENCODER_AWAY, Parameters, StageRetry, stage
from tasks.runtime.progress import progress, raise_if_stopped
from tasks.runtime.run_logger import get_run_logger, run_logger
from tasks.runtime.vector_writer import EmbeddedBatch, ReadTexts, VectorWriter, encode

_FEW = 200  # texts that this process embeds before Ray would have started
_one_at_a_time = Lock()  # concurrent stages of this process share what loading a checkpoint sets

PLURAL: dict[Kind, str] = {"query": "queries", "code": "codes"}
KINDS: tuple[Kind, ...] = tuple(PLURAL)


@dataclass(frozen=True)
class Embedding:
    """The store, the encoder and the cluster by which texts are embedded."""

    database: Database
    encoder: str
    settings: EncoderSettings
    ray: RaySettings

    @property
    def spec(self) -> EncoderSpec:
        """The encoder's specification."""
        return encoders.get(self.encoder).spec


class Job(NamedTuple):
    """Texts of one kind without a vector: their ids in ascending order, and how they are read."""

    kind: Kind
    ids: vectors.Ids
    read: ReadTexts


def encoder_key(encoder: str) -> str:
    """Return the digest of an encoder's specification, under which its vectors are stored."""
    return encoders.get(encoder).spec.key


def _is_embedded(p: Parameters) -> bool:
    return not any(
        vectors.lost_files(p.database, encoder_key(p.encoder), kind)
        or len(_missing(p.database, p.collections, p.encoder, kind))
        for kind in KINDS
    )


@stage(
    "embed",
    "embed the texts of {collections[0].name} by {encoder}",
    key=lambda p: digest(
        "embed",
        p.database.store_id,
        digest_of_set(collection.fingerprint for collection in p.collections),
        encoder_key(p.encoder),
    ),
    is_valid=_is_embedded,
    retries=StageRetry((30, 60, 120), ENCODER_AWAY),
)
def embed(
    database: Database,
    collections: Sequence[StoredCollection],
    encoder: str,
    settings: EncoderSettings,
    ray: RaySettings,
) -> int:
    """Embed all queries and codes without a vector; return how many there were."""
    work = Embedding(database, encoder, settings, ray)
    names = ", ".join(collection.name for collection in collections)
    jobs = []
    for kind in KINDS:
        forget_lost_files(work, kind)
        ids = _missing(database, collections, encoder, kind)
        get_run_logger().info("%s of %s to embed", counted(len(ids), PLURAL[kind]), names)
        jobs.append(Job(kind, ids, partial(vectors.load_texts, database, kind)))
    if any(len(job.ids) for job in jobs):
        _embed(work, collections[0].name, jobs)
    return sum(len(job.ids) for job in jobs)


def forget_lost_files(work: Embedding, kind: Kind) -> None:
    """Remove an encoder's missing files from the store, so that their items are embedded again."""
    lost = vectors.lost_files(work.database, work.spec.key, kind)
    for file in lost:
        run_logger(__name__).warning("%s is missing: its items are embedded again", file)
    if lost:
        vectors.delete_files(work.database, lost)


def embed_texts(work: Embedding, name: str, kind: Kind, text_of: Mapping[str, str]) -> None:
    """Embed and store vectors of texts, which need not be in a collection.

    Args:
        work: The store, the encoder and the cluster.
        name: The collection or benchmark of the texts, for the progress in the UI.
        kind: Queries or codes.
        text_of: Id → text.
    """

    def read(some: vectors.Ids) -> list[str]:
        return [text_of[item] for item in some.to_pylist()]

    _embed(work, name, [Job(kind, vectors.ids_of(sorted(text_of)), read)])


def embed_stored(work: Embedding, name: str, kind: Kind, ids: vectors.Ids) -> None:
    """Embed a store's queries or codes that have no vector."""
    forget_lost_files(work, kind)
    stored = vectors.StoredVectors(work.database, work.spec.key, kind, ids)
    missing = ids.filter(stored.is_missing)
    if len(missing):
        _embed(work, name, [Job(kind, missing, partial(vectors.load_texts, work.database, kind))])


def _embed(work: Embedding, name: str, jobs: Sequence[Job]) -> None:
    total = sum(len(job.ids) for job in jobs)
    key = artifact_key("embedding", f"{name} {work.encoder}")
    with progress(key, f"texts embedded by {work.encoder}", total) as bar:
        writer = VectorWriter(work.database, work.spec, work.settings.shard_size, bar.advance)
        batches = chain.from_iterable(writer.batches(*job, total) for job in jobs)
        for batch in _embedded(work, batches, total):
            writer.add(*batch)


def _embedded(
    work: Embedding, batches: Iterable[tuple[Kind, Sequence[str]]], total: int
) -> Iterator[EmbeddedBatch]:
    """Yield batches that are embedded by an API, in this process or by actors."""
    # They take seconds to import, and a run without new texts needs none.
    if work.spec.is_api:
        from tasks.runtime.api_embedder import embed_batches_by_api  # noqa: PLC0415

        return embed_batches_by_api(work.encoder, batches, work.settings, work.database.settings)
    is_for_others = work.ray.address or work.ray.gpus == 0
    if total < _FEW and not is_for_others:  # here a GPU computes, if there is one
        return _embedded_here(work, batches)
    ensure_ray(work.ray)
    from tasks.runtime.embedder import embed_batches  # noqa: PLC0415

    return embed_batches(work.encoder, batches, total, work.settings, work.ray)


def _embedded_here(
    work: Embedding, batches: Iterable[tuple[Kind, Sequence[str]]]
) -> Iterator[EmbeddedBatch]:
    with _one_at_a_time:
        encoder = encoders.get(work.encoder)()
    for number, (kind, texts) in enumerate(batches):
        raise_if_stopped()
        try:
            with _one_at_a_time:
                found = encode(encoder, texts, kind, work.settings.batch_size)
        except CosqaError:
            raise
        except Exception as error:
            raise EncoderError(f"encoder {work.encoder!r} failed: {error}") from error
        yield EmbeddedBatch(number, *found)


def _missing(
    database: Database, collections: Sequence[StoredCollection], encoder: str, kind: Kind
) -> vectors.Ids:
    ids = vectors.member_ids(database, [collection.name for collection in collections], kind)
    stored = vectors.StoredVectors(database, encoder_key(encoder), kind, ids)
    return ids.filter(stored.is_missing)
