"""Stage 2, embed: vectors of all queries and codes of a collection, and of any texts, by encoders.

Texts outside a collection are looked up in the store by their content, not by ids; those without a
vector are embedded and stored.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from threading import Lock
from typing import NamedTuple

import numpy as np

from infra.collected import StoredCollection
from infra.errors import CosqaError, EncoderError, EstimationError
from infra.identity import digest, digest_of_set
from infra.ray import ensure_ray
from infra.records import code_id_of, query_id_of
from infra.settings import EncoderSettings, RaySettings
from infra.store import Database, vectors
from infra.store.vectors import Block, Positions, StoredVectors, VectorFile, Vectors, joint_blocks
from infra.summaries import NO_EFFORT, EncodingEffort
from tasks.benchmarks import Benchmark
from tasks.encoders import EncoderSpec, Kind, encoders
from tasks.estimators import PairVectors
from tasks.inputs.pairs import Pairs
from tasks.reports.text import counted
from tasks.runtime.caching import ENCODER_AWAY, StageRetry, stage
from tasks.runtime.progress import (
    artifact_key,
    get_run_logger,
    progress,
    raise_if_stopped,
    run_logger,
)
from tasks.runtime.vector_writer import EmbeddedBatch, ReadTexts, VectorWriter, encode
from tasks.search.scores import Codes

_FEW = 200  # texts that this process embeds before Ray would have started
_one_at_a_time = Lock()  # concurrent stages of this process share what loading a checkpoint sets

PLURAL: dict[Kind, str] = {"query": "queries", "code": "codes"}
KINDS: tuple[Kind, ...] = tuple(PLURAL)

Encoding = tuple[EncodingEffort, int]


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


@stage(
    "embed",
    "embed the texts of {collections[0].name} by {encoder}",
    key=lambda p: digest(
        "embed",
        p.database.store_id,
        digest_of_set(collection.fingerprint for collection in p.collections),
        encoder_key(p.encoder),
    ),
    is_valid=lambda p: (
        not any(
            vectors.lost_files(p.database, encoder_key(p.encoder), kind)
            or len(_missing(p.database, p.collections, p.encoder, kind))
            for kind in KINDS
        )
    ),
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
    """Embed and store vectors of texts, which need not be in a collection; ``name`` is theirs."""

    def read(some: vectors.Ids) -> list[str]:
        return [text_of[item] for item in some.to_pylist()]

    _embed(work, name, [Job(kind, vectors.ids_of(sorted(text_of)), read)])


def embed_stored_codes(work: Embedding, name: str, ids: vectors.Ids) -> None:
    """Embed a store's codes that have no vector."""
    forget_lost_files(work, "code")
    stored = vectors.StoredVectors(work.database, work.spec.key, "code", ids)
    missing = ids.filter(stored.is_missing)
    if len(missing):
        read = partial(vectors.load_texts, work.database, "code")
        _embed(work, name, [Job("code", missing, read)])


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
    from tasks.runtime.actors import embed_batches  # noqa: PLC0415

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


@dataclass(frozen=True)
class TextVectors:
    """The vectors of any texts by any encoder, found in the store by the texts' content.

    Attributes:
        name: The benchmark of the texts, for the progress in the UI.
        database: The store.
        settings: Number of actors and size of batches, for missing vectors.
        ray: The cluster that computes missing vectors.
    """

    name: str
    database: Database
    settings: EncoderSettings
    ray: RaySettings

    def load(self, encoder: str, kind: Kind, texts: Sequence[str]) -> Vectors:
        """Return (n, d) vectors of these texts; missing ones are computed and stored."""
        return self.open(encoder, kind, identities(kind, texts), texts.__getitem__).load()

    def open(
        self, encoder: str, kind: Kind, ids: vectors.Ids, text_at: Callable[[int], str]
    ) -> StoredVectors:
        """Return the vectors of n texts, to be read by positions; missing ones are computed first.

        Args:
            encoder: Name of an encoder.
            kind: Queries or codes.
            ids: (n,) identities of the texts.
            text_at: Returns the text at a position.
        """
        work = Embedding(self.database, encoder, self.settings, self.ray)
        forget_lost_files(work, kind)
        key = encoder_key(encoder)
        stored = StoredVectors(self.database, key, kind, ids)
        missing = np.flatnonzero(stored.is_missing).tolist()
        if not missing:
            return stored
        at = {ids[row].as_py(): row for row in missing}
        embed_texts(work, self.name, kind, {item: text_at(row) for item, row in at.items()})
        return StoredVectors(self.database, key, kind, ids).require_all(self.name)

    def load_pairs(self, encoder: str, pairs: Pairs) -> PairVectors:
        """Return the vectors of pairs, as `load` does."""
        queries = self.load(encoder, "query", pairs.queries)
        codes = self.load(encoder, "code", pairs.codes)
        similarity = encoders.get(encoder).spec.similarity
        try:
            return PairVectors(queries, codes, similarity=similarity)
        except EstimationError as error:
            raise EstimationError(f"{encoder}, pairs of {pairs.name}: {error}") from None


class BenchmarkVectors:
    """The vectors of a benchmark's queries and codes by any encoder."""

    def __init__(
        self, benchmark: Benchmark, database: Database, settings: EncoderSettings, ray: RaySettings
    ) -> None:
        self._database = database
        self._texts = TextVectors(benchmark.name, database, settings, ray)
        self._benchmark = benchmark
        self._opened: dict[str, StoredVectors] = {}

    def compute_missing(self, encoder: str) -> None:
        """Compute and store the vectors that are missing."""
        self.queries(encoder, [query.query_id for query in self._benchmark.queries])
        self._open(encoder)

    def queries(self, encoder: str, ids: Sequence[str]) -> Vectors:
        """Return (n, d) vectors of these queries; missing ones are computed."""
        queries = self._benchmark.queries
        text_of: dict[str, str] = {query.query_id: query.text for query in queries}
        return self._texts.load(encoder, "query", [text_of[query] for query in ids])

    def code_blocks(
        self, encoders: Sequence[str], wanted: Positions | None = None
    ) -> Iterator[Block]:
        """Yield ((m,) positions, encoder → (m, d) vectors) over the codes, as `open_codes` does.

        A position is that of the code's id among all ids in ascending order. Missing vectors are
        computed.
        """
        yield from joint_blocks({name: self._open(name) for name in encoders}, wanted)

    def encoding(self, encoder: str) -> Encoding:
        """Return the effort of encoding the codes, as far as it is known, and the dimension.

        It is that of the stored files with any of them; nothing is computed.
        """
        stored = self._opened.get(encoder) or StoredVectors(
            self._database, encoder_key(encoder), "code", self._codes[1]
        )
        folder = self._database.settings.vectors
        numbers = np.unique(stored.file[~stored.is_missing]).tolist()
        files = [VectorFile(folder / stored.files[number]) for number in numbers]
        dimension = files[0].dimension if files else encoders.get(encoder).spec.dimension
        return sum((file.effort for file in files), NO_EFFORT), dimension

    def _open(self, encoder: str) -> StoredVectors:
        if encoder not in self._opened:
            order, ids = self._codes
            codes = self._benchmark.codes
            self._opened[encoder] = self._texts.open(
                encoder, "code", ids, lambda row: codes[order[row]].text
            )
        return self._opened[encoder]

    @cached_property
    def _codes(self) -> tuple[Sequence[int], vectors.Ids]:
        """The codes' positions in the benchmark by ascending id, and the texts' identities."""
        named = [
            (code.code_id, code_id_of(code.text, code.language)) for code in self._benchmark.codes
        ]
        order = sorted(range(len(named)), key=named.__getitem__)
        return order, vectors.ids_of([named[row][1] for row in order])


def identities(kind: Kind, texts: Sequence[str]) -> vectors.Ids:
    """Return the (n,) identities of texts, which are the ids of such items in a collection."""
    return vectors.ids_of(
        [(query_id_of if kind == "query" else code_id_of)(text) for text in texts]
    )


def stored_vectors(
    database: Database, collection: str, encoder: str, kind: vectors.Kind, ids: vectors.Ids
) -> StoredVectors:
    """Return the vectors of a collection's items by an encoder, read on demand.

    Raises:
        StoreError: An item has not been embedded.
    """
    return StoredVectors(database, encoder_key(encoder), kind, ids).require_all(collection)


def open_codes(database: Database, collection: str, encoders: Sequence[str]) -> Codes:
    """Return the vectors of a collection's codes, which can be iterated several times.

    A position is that of the code's id in `corpus.code_ids`, which is in ascending order; they
    ascend within a block. Each stands in one block; blocks come in any order. The vectors are
    mapped from files: they are not to be written to.
    """
    ids = vectors.member_ids(database, [collection], "code")
    stored = {name: stored_vectors(database, collection, name, "code", ids) for name in encoders}
    return partial(joint_blocks, stored)
