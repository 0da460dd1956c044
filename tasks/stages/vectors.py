"""Vectors by an encoder: of a collection's items, and of any benchmark's texts.

Texts outside a collection are looked up in the store by their content, not by ids; those without a
vector are embedded and stored.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from infra.batches import batched
from infra.errors import EstimationError
from infra.identity import digest
from infra.records import normalise_code, normalise_query
from infra.settings import EncoderSettings, RaySettings
from infra.store import Database, corpus, vectors
from infra.store.vector_files import StoredVectors, Vectors, load_vectors
from tasks.benchmarks import Benchmark
from tasks.benchmarks.pairs import Pairs
from tasks.encoders import Kind, encoders
from tasks.estimators import PairVectors, check_vectors
from tasks.stages.embed import Part, embed_items, encoder_key

Positions = npt.NDArray[np.int32]

CODE_BATCH = 65_536


class TextVectors:
    """The vectors of any texts by any encoder, found in the store by the texts' content.

    Args:
        name: What the texts belong to, for the log.
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
        """Return (n, d) vectors of these texts; missing ones are computed and stored.

        Raises:
            UnknownNameError: There is no such encoder.
            EncoderError: Its checkpoint cannot be loaded, or a worker died.
        """
        identities = [_IDENTITY[kind](text) for text in texts]
        file_of = self._files(encoder, kind, identities)
        missing = {
            identity: text
            for identity, text in zip(identities, texts, strict=True)
            if identity not in file_of
        }
        if missing:
            part = Part(collection=self._name, kind=kind)
            items = sorted(missing.items())
            embed_items(self._database, part, items, encoder, self._settings, self._ray)
            file_of = self._files(encoder, kind, identities)
        return load_vectors(self._database.settings.vectors, file_of, identities)

    def load_pairs(self, encoder: str, pairs: Pairs) -> PairVectors:
        """Return the vectors of pairs, as `load` does.

        Raises:
            EstimationError: One has no cosine.
        """
        queries = self.load(encoder, "query", pairs.queries)
        codes = self.load(encoder, "code", pairs.codes)
        with self._way_out(encoder, f"pairs of {pairs.name}"):
            return PairVectors(queries, codes)

    def load_checked(self, encoder: str, kind: Kind, texts: Sequence[str]) -> Vectors:
        """Return (n, d) vectors of these texts, as `load` does.

        Raises:
            EstimationError: One has no cosine.
        """
        found = self.load(encoder, kind, texts)
        with self._way_out(encoder, self._name):
            check_vectors("queries" if kind == "query" else "codes", found)
        return found

    @contextmanager
    def _way_out(self, encoder: str, what: str) -> Iterator[None]:
        """Say which folder to remove where stored vectors have no cosine."""
        try:
            yield
        except EstimationError as error:
            name = f"{encoders.get(encoder).spec.name}-{encoder_key(encoder)}"
            raise EstimationError(
                f"{encoder}, {what}: {error}; remove the folder "
                f"{self._database.settings.vectors / name} first, and see that the checkpoint is "
                "intact"
            ) from None

    def _files(self, encoder: str, kind: Kind, identities: Sequence[str]) -> dict[str, str]:
        """Return identity → file with its vector; records of missing files are deleted first."""
        key = encoder_key(encoder)
        items_in = vectors.files_holding(self._database, key, kind, sorted(set(identities)))
        for file in list(items_in):
            if not (self._database.settings.vectors / file).exists():
                vectors.delete_file(self._database, file)
                del items_in[file]
        return {item: file for file, items in items_in.items() for item in items}


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
        self._texts = TextVectors(benchmark.name, database, settings, ray)
        self._queries: dict[str, str] = {query.query_id: query.text for query in benchmark.queries}
        self._codes: dict[str, str] = {code.code_id: code.text for code in benchmark.codes}

    def queries(self, encoder: str, ids: Sequence[str]) -> Vectors:
        """Return (n, d) vectors of these queries; missing ones are computed."""
        return self._texts.load(encoder, "query", [self._queries[query] for query in ids])

    def codes(self, encoder: str) -> Iterator[tuple[Positions, Vectors]]:
        """Yield ((m,) positions, (m, d) vectors) over all codes, as `code_blocks` does."""
        for positions, rows in self.code_blocks([encoder]):
            yield positions, rows[encoder]

    def code_blocks(
        self, encoders: Sequence[str]
    ) -> Iterator[tuple[Positions, dict[str, Vectors]]]:
        """Yield ((m,) positions, encoder → (m, d) vectors) over all codes.

        A position is that of the code's id among all ids in ascending order. Each stands in one
        block; blocks come in any order. The vectors are not to be written to, and are valid until
        the next block is asked for. Missing ones are computed.
        """
        first = 0
        for ids in batched(sorted(self._codes), CODE_BATCH):
            texts = [self._codes[code] for code in ids]
            loaded = {name: self._texts.load(name, "code", texts) for name in encoders}
            yield _range(first, len(ids)), loaded
            first += len(ids)


def _query_identity(text: str) -> str:
    return f"q{digest('query', normalise_query(text))}"


def _code_identity(text: str) -> str:
    return f"c{digest('code', normalise_code(text))}"


_IDENTITY: dict[Kind, Callable[[str], str]] = {"query": _query_identity, "code": _code_identity}


def stored_vectors(
    database: Database, collection: str, encoder: str, kind: vectors.Kind
) -> StoredVectors:
    """Return the vectors of a collection's items by an encoder, read on demand."""
    return StoredVectors(database, collection, encoder_key(encoder), kind)


def code_blocks(
    database: Database, collection: str, encoders: Sequence[str]
) -> Iterator[tuple[Positions, dict[str, Vectors]]]:
    """Yield ((m,) positions, encoder → (m, d) vectors) over a collection's codes.

    A position is that of the code's id in `corpus.code_ids`, which is in ascending order; they
    ascend within a block. Each stands in one block; blocks come in any order. The vectors are not
    to be written to, and are valid until the next block is asked for.

    Raises:
        StoreError: An encoder has not embedded all codes, or a file is damaged.
    """
    stored = {name: stored_vectors(database, collection, name, "code") for name in encoders}
    first = 0
    for ids in batched(corpus.code_ids(database, collection), CODE_BATCH):
        yield (
            _range(first, len(ids)),
            {name: by_encoder.load(ids) for name, by_encoder in stored.items()},
        )
        first += len(ids)


def _range(first: int, number: int) -> Positions:
    return np.arange(first, first + number, dtype=np.int32)
