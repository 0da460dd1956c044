"""Rankings of a collection's codes for any queries, each method and language a run by itself.

A run is a TREC file whose tag is the digest of all that decides it: method and weights, the codes,
the queries, the length. One whose file is there is not ranked again, so that a killed search goes
on with the method and the language that it was at; vectors are kept as they come. At once in
memory are the codes of one language for a lexical method, and a block of vectors for an encoder.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from prefect.logging import get_run_logger

from infra.atomic import atomic_write
from infra.collected import StoredCollection
from infra.disk import OTHER_OUTPUT, space_on
from infra.identity import mark
from infra.locks import locked
from infra.records import Code, Query, Record
from infra.settings import Settings
from infra.store import Database, corpus
from infra.store.vectors import ids_of, joint_blocks
from tasks.benchmarks import write_run
from tasks.benchmarks.rows import Rows
from tasks.benchmarks.runs import Rankings
from tasks.benchmarks.trec import run_file, run_tag
from tasks.encoders import encoders
from tasks.files.json_lines import read_queries
from tasks.ranking.fusion import fuse
from tasks.ranking.methods import components, identity, rank_vectors
from tasks.retrievers import retrievers
from tasks.runtime.caching import VECTORS_AWAY, stage
from tasks.stages.embed import Embedding, embed_stored
from tasks.stages.scoring import Run
from tasks.stages.vectors import TextVectors, stored_vectors

_TAG_DIGITS = 16


class Asked(Record):
    """The queries of a search, by reference: a task's parameters are small.

    Attributes:
        name: What to call them.
        file: JSON Lines of their texts.
        digest: Of the texts.
    """

    name: str
    file: Path
    digest: str

    @classmethod
    def of(cls, name: str, texts: Iterable[str], folder: Path) -> "Asked":
        """Return queries, which are written to ``folder``; of equal ones the first is kept."""
        distinct = {query.query_id: query.text for query in map(Query.of, texts)}
        file = folder / "queries.jsonl"
        with space_on(folder, OTHER_OUTPUT), atomic_write(file) as partly:
            lines = (json.dumps({"query": text}) for text in distinct.values())
            partly.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return cls(name=name, file=file, digest=mark("asked", *distinct))

    def read(self) -> list[Query]:
        """Return the queries."""
        return [query for _, query in read_queries(self.file)]


class Search(Record):
    """Which codes are ranked for which queries.

    Attributes:
        collection: Whose codes.
        asked: The queries.
        depth: The most codes of a query.
        folder: Of this search alone; a method's run becomes ``runs/METHOD.trec`` there.
        language: The codes' language; "" for all codes.
    """

    collection: StoredCollection
    asked: Asked
    depth: int
    folder: Path
    language: str = ""

    @property
    def title(self) -> str:
        """What to call the codes."""
        return self.collection.name + f" in {self.language}" * bool(self.language)

    def of_language(self, language: str) -> "Search":
        """Return this search over the codes of a language, in a folder below this one's."""
        return self.model_copy(update={"language": language, "folder": self.folder / language})


@contextmanager
def searching(
    collection: StoredCollection, queries: Path, texts: Iterable[str], depth: int, outputs: Path
) -> Iterator[Search]:
    """Give a search a folder, into which one run at a time writes; another waits in the ``with``.

    It then finds what the first one ranked. What a killed run left half-written is removed.

    Args:
        collection: Whose codes.
        queries: The file that the queries are from, which names the search.
        texts: The queries.
        depth: The most codes of a query.
        outputs: The folder of all outputs.
    """
    folder = outputs.resolve() / "challenges" / f"{collection.name}-{queries.stem}"
    with ExitStack() as lock:
        file = folder / ".lock"
        try:
            lock.enter_context(locked(file, wait=False))
        except BlockingIOError:
            get_run_logger().info("waits until no other run writes into %s", folder)
            lock.enter_context(locked(file))
        for left in folder.rglob(".*.partial"):
            left.unlink(missing_ok=True)
        asked = Asked.of(queries.stem, texts, folder)
        yield Search(collection=collection, asked=asked, depth=depth, folder=folder)


def _tag(search: Search, method: str) -> str:
    """Return a method's name with the digest of all that decides its run."""
    collection = search.collection
    codes = collection.name, collection.fingerprint, collection.stamp, search.language
    key = mark("ranked", identity(method), str(search.depth), search.asked.digest, *codes)
    return f"{method}.{key[:_TAG_DIGITS]}"


def _is_ranked(search: Search, method: str) -> bool:
    return run_tag(run_file(search.folder, method)) == _tag(search, method)


@stage(
    "rank",
    "rank {search.title} for {search.asked.name} by {method}",
    key=lambda p: mark("rank", str(p.search.folder), _tag(p.search, p.method)),
    is_valid=lambda p: _is_ranked(p.search, p.method),
    retries=VECTORS_AWAY,
)
def rank_codes(database: Database, search: Search, method: str, settings: Settings) -> Run:
    """Rank codes for queries by a method and write the run, unless it is there.

    Args:
        database: The store.
        search: The codes and the queries.
        method: A name, or several that are fused (``bm25+minilm``).
        settings: How vectors are computed and searched.

    Raises:
        UnknownNameError: There is no such method.
        EncoderError: An encoder cannot be loaded.
    """
    if not _is_ranked(search, method):
        queries = search.asked.read()
        found = [
            _by_vectors(database, search, queries, name, settings)
            if encoders.has(name)
            else _by_words(database, search, queries, name)
            for name in components(method)
        ]
        rankings = found[0] if len(found) == 1 else fuse(found, search.depth)
        with space_on(search.folder, OTHER_OUTPUT):
            write_run(search.folder, method, rankings, tag=_tag(search, method))
    return Run(method=method, file=run_file(search.folder, method))


def _by_words(database: Database, search: Search, queries: list[Query], name: str) -> Rankings:
    codes = corpus.code_columns(database, search.collection.name, search.language)
    return retrievers.get(name)().rank(queries, Rows(Code, codes), search.depth)


def _by_vectors(
    database: Database, search: Search, queries: list[Query], name: str, settings: Settings
) -> Rankings:
    """Return rankings by an encoder, once all codes have vectors."""
    collection = search.collection.name
    codes = corpus.code_ids(database, collection, search.language)
    embedding = Embedding(database, name, settings.encoder, settings.ray)
    embed_stored(embedding, search.title, "code", ids_of(codes))
    opened = stored_vectors(database, collection, name, "code").open(ids_of(codes))
    asked = sorted(queries, key=lambda query: query.query_id)
    texts = TextVectors(search.asked.name, database, settings.encoder, settings.ray)
    vectors = {name: texts.load(name, "query", [query.text for query in asked])}
    ids = [query.query_id for query in asked]
    blocks = partial(joint_blocks, {name: opened})
    return rank_vectors(vectors, blocks, ids, codes, search.depth, settings.search.memory_mb)
