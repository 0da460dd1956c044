"""Stage 3, candidates: for each query, the codes with the highest mean similarity over encoders.

The similarity is the cosine, or with the fusion ``scaled`` the cosine divided by the encoder's
largest absolute one for the query, as the code of CoSQA+'s authors does.
"""

import time
from collections.abc import Sequence

import numpy as np
from prefect.logging import get_run_logger

from infra.batches import batched
from infra.identity import digest, digest_of_set
from infra.ids import QueryId, SearchId
from infra.settings import SearchSettings
from infra.store import Database, benchmarks, candidates, corpus
from infra.store.corpus import StoredCollection
from tasks.encoders import encoders
from tasks.runtime.caching import stage
from tasks.runtime.references import SearchReference
from tasks.stages.vectors import code_blocks, stored_vectors

_QUERY_BATCH = 2048


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
    keys = [_search_key(name) for name in search.encoders]
    codes = digest_of_set(corpus.code_ids(database, collection))
    fusion = [] if search.fusion == "mean" else [search.fusion]
    return SearchId(digest("search", codes, digest_of_set(keys), str(search.top_k), *fusion))


def _search_key(encoder: str) -> str:
    """Return the identity of an encoder in a search, whose columns are called by its name."""
    spec = encoders.get(encoder).spec
    return digest(spec.key, spec.name) if spec.former_name else spec.key


def judged_searches(database: Database, search: SearchReference) -> list[SearchId]:
    """Return the ids of a search and of the pools of its collection."""
    return [search.search_id, *candidates.pools_of(database, search.collection)]


def _unsearched_queries(database: Database, search: SearchReference) -> list[QueryId]:
    return candidates.queries_without_candidates(database, search.search_id, search.collection)


@stage(
    "find-candidates",
    "find-candidates-{search.collection}-top-{settings.top_k}",
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
    """Search a collection's codes for every query without candidates; return the search.

    Raises:
        StoreError: An encoder has not embedded the collection.
    """
    started = time.monotonic()
    queries = _unsearched_queries(database, search)
    candidates.record_search(
        database, search.search_id, collection.name, settings.encoders, settings.top_k
    )
    for batch in batched(queries, _QUERY_BATCH):
        _search(database, search, batch, settings)
    get_run_logger().info(
        "searched %s codes for %s queries", f"{collection.codes:,}", f"{len(queries):,}"
    )
    benchmarks.record_stage_run(
        database,
        benchmarks.StageRun(
            collection=collection.name,
            stage="find candidates",
            items=len(queries),
            seconds=time.monotonic() - started,
            codes=collection.codes,
        ),
    )
    return search


def _search(
    database: Database,
    search: SearchReference,
    queries: Sequence[QueryId],
    settings: SearchSettings,
) -> None:
    # FAISS takes a second to import, and a run without new queries does not need it.
    from tasks.ranking.dense import inverse_peaks, top_candidates  # noqa: PLC0415

    collection, names = search.collection, settings.encoders
    query_vectors = {
        name: stored_vectors(database, collection, name, "query").load(queries) for name in names
    }
    ids = np.asarray(corpus.code_ids(database, collection))
    weights = None
    if settings.fusion == "scaled":
        blocks = code_blocks(database, collection, names)
        weights = inverse_peaks(
            query_vectors, ((ids[some].tolist(), rows) for some, rows in blocks)
        )
    blocks = code_blocks(database, collection, names)
    named = ((ids[some].tolist(), rows) for some, rows in blocks)
    hits = top_candidates(query_vectors, named, queries, settings.top_k, weights)
    candidates.add_candidates(database, search.search_id, hits)
