"""Rankings of a collection's codes for any queries, each method and language a run by itself.

A run is a TREC file whose tag is the digest of all that decides it: method and weights, the codes,
the queries, the length. One whose file is there is not ranked again, so that a killed search goes
on with the method and the language that it was at; vectors are stored as they come. A lexical
method has the codes of one language in memory, an encoder a block of vectors.
"""

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from infra.collected import StoredCollection
from infra.files import OTHER_OUTPUT, atomic_write, space_on
from infra.identity import mark
from infra.records import Code, Query, Record
from infra.settings import EncoderSettings, RaySettings
from infra.store import Database, corpus
from infra.store.vectors import ids_of, joint_blocks
from tasks.benchmarks import write_run
from tasks.benchmarks.rows import Rows
from tasks.benchmarks.runs import Rankings
from tasks.benchmarks.trec import run_file, run_tag
from tasks.encoders import encoders
from tasks.inputs.pairs import read_queries
from tasks.ranking.methods import components, fuse, identity, rank_vectors
from tasks.retrievers import retrievers
from tasks.runtime.caching import VECTORS_AWAY, stage
from tasks.stages.scoring import Run
from tasks.stages.vectors import Embedding, TextVectors, embed_stored_codes, stored_vectors

_TAG_DIGITS = 16


class Search(Record):
    """The codes and the queries of a search, by reference: a task's parameters are small.

    Attributes:
        collection: The collection of the codes.
        name: The name of the queries.
        queries: JSON Lines of the queries' texts.
        digest: Digest of these texts and the depth.
        depth: The most codes of a query.
        folder: The folder of this search alone; a method's run becomes ``runs/METHOD.trec`` there.
        language: The codes' language; "" for all codes.
    """

    collection: StoredCollection
    name: str
    queries: Path
    digest: str
    depth: int
    folder: Path
    language: str = ""

    @property
    def title(self) -> str:
        """The name of the codes."""
        return self.collection.name + f" in {self.language}" * bool(self.language)

    def read_queries(self) -> list[Query]:
        """Return the queries."""
        return [query for _, query in read_queries(self.queries)]

    def of_language(self, language: str) -> "Search":
        """Return this search over the codes of a language, in a folder below this one's."""
        return self.model_copy(update={"language": language, "folder": self.folder / language})


def open_search(
    collection: StoredCollection, queries: Path, texts: Iterable[str], depth: int, outputs: Path
) -> Search:
    """Return a search, whose queries are written to its folder; of equal ones the first counts.

    Other queries or another depth have another folder. The file of the queries names the search.
    """
    distinct = {query.query_id: query.text for query in map(Query.of, texts)}
    digest = mark("asked", str(depth), *distinct)
    folder = outputs.resolve() / "challenges" / f"{collection.name}-{queries.stem}-{digest[:8]}"
    file = folder / "queries.jsonl"
    with space_on(folder, OTHER_OUTPUT), atomic_write(file) as partial:
        lines = (json.dumps({"query": text}) for text in distinct.values())
        partial.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Search(
        collection=collection, name=queries.stem, queries=file, digest=digest, depth=depth,
        folder=folder,
    )  # fmt: skip


def _tag(search: Search, method: str) -> str:
    """Return a method's name with the digest of all that decides its run."""
    collection = search.collection
    codes = collection.name, collection.fingerprint, collection.input_digest, search.language
    key = mark("ranked", identity(method), search.digest, *codes)
    return f"{method}.{key[:_TAG_DIGITS]}"


def _is_ranked(search: Search, method: str) -> bool:
    return run_tag(run_file(search.folder, method)) == _tag(search, method)


@stage(
    "rank",
    "rank {search.title} for {search.name} by {method}",
    key=lambda p: mark("rank", str(p.search.folder), _tag(p.search, p.method)),
    is_valid=lambda p: _is_ranked(p.search, p.method),
    retries=VECTORS_AWAY,
)
def rank_codes(
    database: Database, search: Search, method: str, encoder: EncoderSettings, ray: RaySettings
) -> Run:
    """Rank codes for queries by a method and write the run, unless it is there."""
    if not _is_ranked(search, method):
        queries = search.read_queries()
        found = [
            _by_encoder(Embedding(database, name, encoder, ray), search, queries)
            if encoders.has(name)
            else _by_lexicon(database, search, queries, name)
            for name in components(method)
        ]
        rankings = found[0] if len(found) == 1 else fuse(found, search.depth)
        with space_on(search.folder, OTHER_OUTPUT):
            write_run(search.folder, method, rankings, tag=_tag(search, method))
    return Run(method=method, file=run_file(search.folder, method))


def _by_lexicon(database: Database, search: Search, queries: list[Query], name: str) -> Rankings:
    codes = corpus.code_columns(database, search.collection.name, search.language)
    return retrievers.get(name)().rank(queries, Rows(Code, codes), search.depth)


def _by_encoder(embedding: Embedding, search: Search, queries: list[Query]) -> Rankings:
    """Return rankings by an encoder, once all codes have vectors."""
    database, name, collection = embedding.database, embedding.encoder, search.collection.name
    codes = corpus.code_ids(database, collection, search.language)
    embed_stored_codes(embedding, search.title, ids_of(codes))
    opened = stored_vectors(database, collection, name, "code", ids_of(codes))
    asked = sorted(queries, key=lambda query: query.query_id)
    texts = TextVectors(search.name, database, embedding.settings, embedding.ray)
    vectors = {name: texts.load(name, "query", [query.text for query in asked])}
    ids = [query.query_id for query in asked]
    blocks = partial(joint_blocks, {name: opened})
    return rank_vectors(vectors, blocks, ids, codes, search.depth)
