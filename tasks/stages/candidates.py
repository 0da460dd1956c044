"""Stage 3: for every query, the codes with the highest average cosine over the encoders."""

import time
from collections.abc import Sequence

from prefect.logging import get_run_logger

from infra.batches import batched
from infra.identity import digest, digest_of_set
from infra.settings import SearchSettings, StoreSettings
from infra.store import Database, benchmarks, candidates, corpus, open_database
from infra.store.corpus import StoredCollection
from tasks.runtime.caching import run_stage, stage
from tasks.runtime.references import SearchReference
from tasks.stages.embed import encoder_key
from tasks.stages.vectors import code_blocks, stored_vectors

QUERIES_AT_ONCE = 2048


def find_candidates(
    store: StoreSettings, collection: StoredCollection, search: SearchSettings
) -> SearchReference:
    """Search the collection's codes for every query that this search has not answered.

    The search's identity is that of the codes, the encoders and ``top_k``: new queries are
    answered beside the old ones, new codes make a new search.
    """
    database = open_database(store)
    search_id = search_identity(database, collection.name, search)
    waiting = candidates.queries_without_candidates(database, search_id, collection.name)
    key = digest("candidates", database.store_id, collection.fingerprint, search_id)
    return run_stage(
        _find_candidates, not waiting, key=key, store=store, collection=collection, search=search
    )


def search_identity(database: Database, collection: str, search: SearchSettings) -> str:
    """Return the id of the search over a collection's present codes."""
    keys = [encoder_key(name) for name in search.encoders]
    codes = digest_of_set(corpus.code_ids(database, collection))
    return digest("search", codes, digest_of_set(keys), str(search.top_k))


def judged_searches(database: Database, collection: str, search: SearchSettings) -> list[str]:
    """Return the search whose candidates agents judge, and those that deepened its benchmarks."""
    return [
        search_identity(database, collection, search),
        *candidates.pools_of(database, collection),
    ]


@stage("find-candidates", "find-candidates-{collection.name}-top-{search.top_k}")
def _find_candidates(
    key: str,  # noqa: ARG001 - names the inputs for Prefect's cache
    store: StoreSettings,
    collection: StoredCollection,
    search: SearchSettings,
) -> SearchReference:
    database = open_database(store)
    started = time.monotonic()
    search_id = search_identity(database, collection.name, search)
    waiting = candidates.queries_without_candidates(database, search_id, collection.name)
    candidates.record_search(database, search_id, collection.name, search.encoders, search.top_k)
    for queries in batched(waiting, QUERIES_AT_ONCE):
        _search(database, collection.name, search_id, queries, search)
    get_run_logger().info(
        "searched %s codes for %s queries", f"{collection.codes:,}", f"{len(waiting):,}"
    )
    benchmarks.record_stage_run(
        database,
        benchmarks.StageRun(
            collection=collection.name,
            stage="find candidates",
            items=len(waiting),
            seconds=time.monotonic() - started,
        ),
    )
    return SearchReference(
        search_id=search_id,
        collection=collection.name,
        queries=collection.queries,
        candidates=collection.queries * min(search.top_k, collection.codes),
    )


def _search(
    database: Database,
    collection: str,
    search_id: str,
    queries: Sequence[str],
    search: SearchSettings,
) -> None:
    from tasks.ranking.dense import top_candidates  # noqa: PLC0415 - brings FAISS along

    query_vectors = {
        name: stored_vectors(database, collection, name, "query").load(queries)
        for name in search.encoders
    }
    found = top_candidates(
        query_vectors, code_blocks(database, collection, search.encoders), queries, search.top_k
    )
    candidates.add_candidates(database, search_id, found)
