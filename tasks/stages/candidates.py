"""Stage 3, candidates: for each query, the codes with the highest mean similarity over encoders.

The similarity is the cosine (of some encoders the inner product), or with the fusion ``scaled``
that divided by the encoder's largest absolute one for the query, as the code of CoSQA+'s authors
does. All codes are compared unless the settings ask for an approximate index, whose recall is
measured first and logged. The overlap is the share of these that an encoder finds alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from infra.collected import StoredCollection
from infra.errors import StoreError
from infra.identity import CodeId, QueryId, SearchId, digest
from infra.records import Record
from infra.settings import SearchSettings
from infra.store import Database, candidates, corpus, vectors
from infra.store.vectors import ids_of
from tasks.encoders import encoders
from tasks.reports.text import counted
from tasks.runtime.caching import VECTORS_AWAY, stage
from tasks.runtime.progress import Progress, artifact_key, get_run_logger, progress, run_logger
from tasks.runtime.references import CollectedSource, SearchReference
from tasks.search.exact import Hits, max_normalisers
from tasks.search.exact import search as search_exactly
from tasks.search.scores import Block, Codes, Positions
from tasks.stages.vectors import open_codes, stored_vectors

if TYPE_CHECKING:
    from prefect import State

_MEASURED_QUERIES = 200  # searched exactly too, to measure the recall of an index


def search_of(
    database: Database, collection: StoredCollection, search: SearchSettings
) -> SearchReference:
    """Return the reference of the search over a collection's current codes by these settings.

    Its id depends on the codes, the encoders, ``top_k`` and the fusion: new queries are
    added to the same search, new codes make a new one.
    """
    return SearchReference(
        search_id=search_identity(database, collection.name, search),
        collection=collection.name,
        queries=collection.queries,
        candidates=collection.queries * min(search.top_k, collection.codes),
    )


def search_identity(database: Database, collection: str, search: SearchSettings) -> SearchId:
    """Return the id of the search over a collection's current codes."""
    codes = corpus.code_ids(database, collection)
    keys = sorted({encoders.get(name).spec.key for name in search.encoders})
    fusion = [] if search.fusion == "mean" else [search.fusion]
    index = ["ivf", str(search.ivf_probes)] if search.index == "ivf" else []
    return SearchId(
        digest("search", digest(*codes), digest(*keys), str(search.top_k), *fusion, *index)
    )


def judged_searches(database: Database, search: SearchReference) -> list[SearchId]:
    """Return the ids of a search and of the pools of its collection."""
    return [search.search_id, *candidates.pools_of(database, search.collection)]


def _unsearched_queries(database: Database, search: SearchReference) -> list[QueryId]:
    return candidates.queries_without_candidates(database, search.search_id, search.collection)


@stage(
    "find-candidates",
    "find the top {settings.top_k} codes for each query of {search.collection}",
    key=lambda p: digest(
        "candidates", p.database.store_id, p.collection.fingerprint, p.search.search_id
    ),
    is_valid=lambda p: not _unsearched_queries(p.database, p.search),
)
def find_candidates(
    database: Database,
    collection: StoredCollection,
    search: SearchReference,
    settings: SearchSettings,
) -> SearchReference:
    """Search a collection's codes for every query without candidates; return the search."""
    queries = _unsearched_queries(database, search)
    candidates.record_search(
        database, search.search_id, collection.name, settings.encoders, settings.top_k
    )
    if queries and collection.codes:
        # An index is built in one pass and measured in another; scaling needs one for each encoder.
        passes = 2 if settings.index == "ivf" else 1
        if settings.fusion == "scaled":
            passes += len(settings.encoders)
        key = artifact_key("candidates", collection.name)
        with progress(key, "codes searched", passes * collection.codes) as bar:
            _search(database, search, queries, settings, bar)
    get_run_logger().info(
        "%s: %s searched for %s", collection.name, counted(collection.codes, "codes"),
        counted(len(queries), "queries"),
    )  # fmt: skip
    return search


def _search(
    database: Database,
    search: SearchReference,
    query_ids: Sequence[QueryId],
    settings: SearchSettings,
    bar: Progress,
) -> None:
    collection, names = search.collection, settings.encoders
    code_ids = pa.array(corpus.code_ids(database, collection), pa.string())

    def load(ids: Sequence[str]) -> dict[str, vectors.Vectors]:
        some = vectors.ids_of(ids)
        return {
            name: stored_vectors(database, collection, name, "query", some).load() for name in names
        }

    codes = _counted(open_codes(database, collection, names), bar)
    queries = load(query_ids)
    if settings.index == "ivf":
        # FAISS takes a second to import, and an exact search does not need it.
        from tasks.search.approximate import ApproximateSearch  # noqa: PLC0415

        index = ApproximateSearch(codes, len(code_ids), names, settings.ivf_probes)
        # Of all queries, not of those that are left: a few say little about an index.
        every = vectors.member_ids(database, [collection], "query").to_pylist()
        sample = every[:: -(-len(every) // _MEASURED_QUERIES)]
        recall = index.recall(load(sample), settings.top_k)
        run_logger(__name__).info(
            "the index ivf finds %.2f %% of the exact top %s of %s queries",
            100 * recall, settings.top_k, f"{len(sample):,}",
        )  # fmt: skip
        hits = index.search(queries, settings.top_k)
    else:
        weights = max_normalisers(queries, codes) if settings.fusion == "scaled" else None
        hits = search_exactly(queries, codes, settings.top_k, weights)
    rows = _columns(pa.array(query_ids, pa.string()), code_ids, names, hits)
    candidates.add_candidate_columns(database, search.search_id, rows)


def _counted(codes: Codes, bar: Progress) -> Codes:
    """Return the same codes; each iteration over them advances the bar."""

    def counted(wanted: Positions | None = None) -> Iterator[Block]:
        for block in codes(wanted):
            yield block
            if wanted is None and bar.total:
                bar.advance(min(len(block[0]), bar.total - bar.done))

    return counted


def _columns(query_ids: pa.Array, code_ids: pa.Array, names: Sequence[str], hits: Hits) -> pa.Table:
    """Return the columns that `candidates.add_candidate_columns` takes."""
    queries, k = hits.positions.shape
    rows = np.repeat(np.arange(queries, dtype=np.int32), k)
    scores = [pa.array(hits.scores[:, :, number].ravel()) for number in range(len(names))]
    return pa.table(
        {
            "query_id": pa.DictionaryArray.from_arrays(rows, query_ids),
            "code_id": pa.DictionaryArray.from_arrays(hits.positions.ravel(), code_ids),
            "rank": np.tile(np.arange(1, k + 1, dtype=np.int32), queries),
            "similarity": hits.similarities.ravel(),
            "by_encoder": pa.StructArray.from_arrays(scores, list(names)),
        }
    )


class Overlaps(Record):
    """Mean overlaps over ``queries`` queries.

    Attributes:
        by_encoder: Encoder → mean share of the ensemble's candidates that it finds alone.
        problem: Why there are none; empty where there are.
    """

    by_encoder: dict[str, float]
    queries: int
    problem: str = ""


def overlaps_of(
    database: Database, source: CollectedSource, search: SearchSettings
) -> "tuple[Overlaps, list[State[Overlaps]]]":
    """Return the overlaps of a source's search, or why they cannot be computed, and the step."""
    state = find_overlaps(database, source, search, return_state=True)
    try:
        return state.result(), [state]
    except StoreError as error:
        get_run_logger().warning("no overlap of encoders: %s", error)
        return Overlaps(by_encoder={}, queries=0, problem=str(error)), []


@stage(
    "overlap",
    "compare the encoders' candidates of {source.main.name}",
    key=lambda p: digest(
        "overlap 2",  # its class has moved
        p.database.store_id,
        p.source.main.fingerprint,
        p.source.search.search_id,
    ),
    retries=VECTORS_AWAY,  # without `is_valid`: the result is complete
)
def find_overlaps(database: Database, source: CollectedSource, search: SearchSettings) -> Overlaps:
    """Search all codes by each encoder alone, and compare with the stored candidates.

    Raises:
        StoreError: Vectors are missing, or a query has no candidates.
    """
    queries = [query.query_id for query in corpus.load_queries(database, source.main.name)]
    collection = source.main.name
    together = candidates.candidates_of(database, source.search.search_id, queries)
    if len(together) < len(queries):
        raise StoreError("some queries have no candidates yet; run `cosqa collect` first")
    shares = {}
    key = artifact_key("overlap", collection)
    with progress(key, "encoders compared", len(search.encoders)) as bar:
        for name in search.encoders:
            shares[name] = overlap(database, collection, name, together)
            bar.advance(1)
    return Overlaps(by_encoder=shares, queries=len(queries))


def overlap(
    database: Database,
    collection: str,
    encoder: str,
    together: Mapping[QueryId, Sequence[CodeId]],
) -> float:
    """Return the mean share of each query's candidates that an encoder finds alone."""
    if not together:
        return 0.0
    ids = corpus.code_ids(database, collection)
    queries = stored_vectors(database, collection, encoder, "query", ids_of(list(together))).load()
    codes = open_codes(database, collection, [encoder])
    hits = search_exactly({encoder: queries}, codes, max(map(len, together.values())))
    found = 0.0
    for ours, positions in zip(together.values(), hits.positions.tolist(), strict=True):
        alone = {ids[position] for position in positions[: len(ours)]}
        found += len(alone.intersection(ours)) / len(ours)
    return found / len(together)
