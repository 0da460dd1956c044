"""Vectors for benchmarks that came as a folder: taken from the store, or made and kept there.

A vector belongs to a text, whatever benchmark holds it, so texts are looked up by their content.
"""

from collections.abc import Iterator, Sequence

from infra.batches import batched
from infra.identity import digest
from infra.records import normalise_code, normalise_query
from infra.settings import Settings
from infra.store import Database, corpus, vectors
from infra.store.vector_files import StoredVectors, Vectors, load_vectors
from tasks.benchmarks import Benchmark
from tasks.encoders import Kind
from tasks.stages.embed import Part, embed_items, encoder_key


class TextVectors:
    """The vectors of a benchmark's queries and codes by any encoder.

    Args:
        benchmark: Whose texts.
        database: Where vectors are kept.
        settings: How missing ones are made.
    """

    def __init__(self, benchmark: Benchmark, database: Database, settings: Settings) -> None:
        self._name = benchmark.name
        self._database = database
        self._settings = settings
        self._queries = {query.query_id: query.text for query in benchmark.queries}
        self._codes = {code.code_id: code.text for code in benchmark.codes}

    def queries(self, encoder: str, ids: Sequence[str]) -> Vectors:
        """Return (n, d) vectors of these queries; missing ones are made."""
        texts = [self._queries[query] for query in ids]
        return self._load(encoder, "query", [_query_identity(text) for text in texts], texts)

    def codes(self, encoder: str) -> Iterator[tuple[Sequence[str], Vectors]]:
        """Yield (m ids, (m, d) vectors) over all codes; missing ones are made."""
        for ids in batched(sorted(self._codes), CODES_AT_ONCE):
            texts = [self._codes[code] for code in ids]
            identities = [_code_identity(text) for text in texts]
            yield ids, self._load(encoder, "code", identities, texts)

    def _load(
        self, encoder: str, kind: Kind, identities: Sequence[str], texts: Sequence[str]
    ) -> Vectors:
        held = self._files(encoder, kind, identities)
        missing = {
            identity: text
            for identity, text in zip(identities, texts, strict=True)
            if identity not in held
        }
        if missing:
            part = Part(collection=self._name, kind=kind)
            items = sorted(missing.items())
            embed_items(self._database, part, items, encoder, self._settings)
            held = self._files(encoder, kind, identities)
        return load_vectors(self._database.settings.vectors, held, identities)

    def _files(self, encoder: str, kind: Kind, identities: Sequence[str]) -> dict[str, str]:
        """Return identity → file; files that are gone are forgotten first."""
        key = encoder_key(encoder)
        found = vectors.files_holding(self._database, key, kind, sorted(set(identities)))
        for file in list(found):
            if not (self._database.settings.vectors / file).exists():
                vectors.forget_file(self._database, file)
                del found[file]
        return {item: file for file, items in found.items() for item in items}


def _query_identity(text: str) -> str:
    return f"q{digest('query', normalise_query(text))}"


def _code_identity(text: str) -> str:
    return f"c{digest('code', normalise_code(text))}"


CODES_AT_ONCE = 65_536


def stored_vectors(
    database: Database, collection: str, encoder: str, kind: vectors.Kind
) -> StoredVectors:
    """Return access to the vectors of a collection's items by an encoder."""
    return StoredVectors(database, collection, encoder_key(encoder), kind)


def code_blocks(
    database: Database, collection: str, encoders: Sequence[str]
) -> Iterator[tuple[Sequence[str], dict[str, Vectors]]]:
    """Yield (ids, encoder → (n, d) vectors) over a collection's codes, a bounded number at once."""
    stored = {name: stored_vectors(database, collection, name, "code") for name in encoders}
    for ids in batched(corpus.code_ids(database, collection), CODES_AT_ONCE):
        yield ids, {name: access.load(ids) for name, access in stored.items()}


class CollectionVectors:
    """The vectors of a collection, from the store.

    Args:
        database: The store.
        collection: Whose queries and codes.
    """

    def __init__(self, database: Database, collection: str) -> None:
        self._database = database
        self._collection = collection

    def queries(self, encoder: str, ids: Sequence[str]) -> Vectors:
        """Return (n, d) vectors of these queries.

        Raises:
            StoreError: The encoder has not embedded the collection.
        """
        return stored_vectors(self._database, self._collection, encoder, "query").load(ids)

    def codes(self, encoder: str) -> Iterator[tuple[Sequence[str], Vectors]]:
        """Yield (m ids, (m, d) vectors) over all codes."""
        for ids, rows in code_blocks(self._database, self._collection, [encoder]):
            yield ids, rows[encoder]
