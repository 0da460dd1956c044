"""Search for judged pairs by how their ids begin."""

from infra.ids import CodeId, PairKey, QueryId, RecipeId
from infra.store.database import Database


def find_judged(database: Database, query: str, code: str) -> list[tuple[PairKey, RecipeId]]:
    """Return the keys and recipes of all annotations of pairs whose ids begin so, newest first.

    Args:
        database: The store.
        query: How the query's id begins.
        code: How the code's id begins.
    """
    with database.transaction() as tx:
        rows = tx.rows(
            "SELECT query_id, code_id, recipe_id FROM annotations "
            "WHERE starts_with(query_id, ?) AND starts_with(code_id, ?) "
            "ORDER BY query_id, code_id, annotated_at DESC, rowid DESC",
            [query, code],
        )
    return [
        (PairKey(QueryId(str(query_id)), CodeId(str(code_id))), RecipeId(str(recipe_id)))
        for query_id, code_id, recipe_id in rows
    ]
