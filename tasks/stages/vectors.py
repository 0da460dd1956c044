"""Vectors by an encoder: of a collection's items, and of any benchmark's texts.

Texts outside a collection are looked up in the store by their content, not by ids; those without a
vector are embedded and stored.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

import numpy as np

from infra.errors import EstimationError
from infra.records import code_id_of, query_id_of
from infra.settings import EncoderSettings, RaySettings
from infra.store import Database, vectors
from infra.store.vectors import (
    Block,
    Positions,
    StoredVectors,
    VectorFile,
    Vectors,
    joint_blocks,
)
from infra.summaries import NO_EFFORT, EncodingEffort
from tasks.benchmarks import Benchmark
from tasks.encoders import Kind, encoders
from tasks.estimators import PairVectors
from tasks.inputs.pairs import Pairs
from tasks.search.scores import Codes
from tasks.stages.embed import Embedding, embed_texts, encoder_key, forget_lost_files

Encoding = tuple[EncodingEffort, int]


class TextVectors:
    """The vectors of any texts by any encoder, found in the store by the texts' content.

    Args:
        name: The benchmark of the texts, for the progress in the UI.
        database: The store.
        settings: Number of actors and size of batches, for missing vectors.
        ray: The cluster that computes missing vectors.
    """

    def __init__(
        self, name: str, database: Database, settings: EncoderSettings, ray: RaySettings
    ) -> None:
        self._name = name
        self._database = database
        self._settings = settings
        self._ray = ray

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
        work = Embedding(self._database, encoder, self._settings, self._ray)
        forget_lost_files(work, kind)
        key = encoder_key(encoder)
        stored = StoredVectors(self._database, key, kind, ids)
        missing = np.flatnonzero(stored.is_missing).tolist()
        if not missing:
            return stored
        at = {ids[row].as_py(): row for row in missing}
        embed_texts(work, self._name, kind, {item: text_at(row) for item, row in at.items()})
        return StoredVectors(self._database, key, kind, ids).require_all(self._name)

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
    """The vectors of a benchmark's queries and codes by any encoder.

    Args:
        benchmark: The benchmark.
        database: The store.
        settings: Number of actors and size of batches, for missing vectors.
        ray: The cluster that computes missing vectors.
    """

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

    Args:
        database: The store.
        collection: The collection.
        encoders: Names of encoders.
    """
    ids = vectors.member_ids(database, [collection], "code")
    stored = {name: stored_vectors(database, collection, name, "code", ids) for name in encoders}
    return partial(joint_blocks, stored)
