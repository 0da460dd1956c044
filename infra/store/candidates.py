"""Tables of searches and of the candidates that they found."""

import json
from collections.abc import Sequence

import pyarrow as pa

from infra.identity import CodeId, PairKey, QueryId, SearchId
from infra.records import Candidate
from infra.store.database import Database, statements_beside

_SQL = statements_beside(__file__)


def record_search(
    database: Database,
    search_id: SearchId,
    collection: str,
    encoders: Sequence[str],
    top_k: int,
    *,
    pool: bool = False,
) -> None:
    """Store a search once; a ``pool`` has the unjudged results that methods ranked high.

    The time of a search is that of its last use.
    """
    with database.transaction() as tx:
        tx.insert(
            "searches",
            [
                {
                    "search_id": search_id,
                    "collection": collection,
                    "encoders": list(encoders),
                    "top_k": top_k,
                    "pool": pool,
                }
            ],
            on_conflict="ignore",
        )
        if not pool:
            tx.execute("UPDATE searches SET created_at = now() WHERE search_id = ?", [search_id])


def queries_without_candidates(
    database: Database, search_id: SearchId, collection: str
) -> list[QueryId]:
    """Return the ids of a collection's queries without candidates of a search, ascending."""
    return database.column(
        "SELECT query_id FROM collection_queries ANTI JOIN "
        "(SELECT DISTINCT query_id FROM candidates WHERE search_id = ?) USING (query_id) "
        "WHERE collection = ? ORDER BY query_id",
        [search_id, collection],
    )


def count_unjudged(database: Database, search_id: SearchId, collection: str) -> tuple[int, int]:
    """Return the number of unjudged pairs of a search, and of queries that have no others."""
    [(pairs, queries)] = database.rows(_SQL["unjudged"], [collection, search_id])
    return pairs, queries


def add_candidates(
    database: Database, search_id: SearchId, new_candidates: Sequence[Candidate]
) -> None:
    """Store candidates, all of a query at once: one with any is searched, and gets no others.

    So two runs at once whose results differ, as by two processors, do not mix them.
    """
    rows = pa.table(
        {
            name: [getattr(candidate, name) for candidate in new_candidates]
            for name in ("query_id", "code_id", "rank", "similarity")
        }
        | {"by_encoder": [json.dumps(candidate.by_encoder) for candidate in new_candidates]}
    )
    add_candidate_columns(database, search_id, rows)


def add_candidate_columns(database: Database, search_id: SearchId, rows: pa.Table) -> None:
    """Store candidates, as `add_candidates` does.

    Args:
        database: The store.
        search_id: The search that found them.
        rows: Columns query_id, code_id, rank, similarity and by_encoder, the last one JSON or a
            struct with a cosine for each encoder.
    """
    if not rows.num_rows:
        return
    with database.transaction() as tx, tx.stream("found", rows):
        tx.execute(
            "INSERT OR IGNORE INTO candidates "
            "(search_id, query_id, code_id, rank, similarity, by_encoder) "
            "SELECT ?, query_id, code_id, rank, similarity, by_encoder::JSON FROM found "
            "ANTI JOIN (SELECT query_id FROM candidates WHERE search_id = ?) USING (query_id)",
            [search_id, search_id],
        )


def pools_of(database: Database, collection: str) -> list[SearchId]:
    """Return the ids of the searches that add to a collection's pools, oldest first."""
    return database.column(
        "SELECT search_id FROM searches WHERE collection = ? AND pool "
        "ORDER BY created_at, search_id",
        [collection],
    )


def searches_by_collection(database: Database) -> dict[str, list[SearchId]]:
    """Return collection → the ids of all searches over it, oldest first.

    Among them are those that name another collection and found candidates of this one.
    """
    return dict(database.rows(_SQL["searches_by_collection"]))


def pairs_of(database: Database, search_ids: Sequence[SearchId], collection: str) -> list[PairKey]:
    """Return the keys of several searches' pairs in a collection, each once."""
    given = {"collection": collection, "searches": list(search_ids)}
    return [PairKey(*row) for row in database.rows(_SQL["pairs"], given)]


def encoders_of(database: Database, search_ids: Sequence[SearchId]) -> list[str]:
    """Return the encoders of searches, pools aside, sorted."""
    return database.column(
        "SELECT DISTINCT unnest(encoders) AS encoder FROM searches "
        "WHERE list_contains(?, search_id) AND NOT pool ORDER BY encoder",
        [list(search_ids)],
    )


def candidate_codes(
    database: Database, search_ids: Sequence[SearchId], collection: str
) -> list[CodeId]:
    """Return the ids of the codes that are candidates of a collection's queries, ascending."""
    return database.column(
        "SELECT DISTINCT code_id FROM candidates "
        "SEMI JOIN (SELECT query_id FROM collection_queries WHERE collection = ?) "
        "USING (query_id) WHERE list_contains(?, search_id) ORDER BY code_id",
        [collection, list(search_ids)],
    )


def candidates_of(
    database: Database, search_id: SearchId, queries: Sequence[QueryId]
) -> dict[QueryId, list[CodeId]]:
    """Return query → the ids of its candidates in a search, for those of the queries with any."""
    with database.transaction() as tx, tx.table("wanted", {"query_id": list(queries)}):
        rows = tx.rows(
            "SELECT query_id, list(code_id) FROM candidates SEMI JOIN wanted USING (query_id) "
            "WHERE search_id = ? GROUP BY query_id",
            [search_id],
        )
    return dict(rows)
