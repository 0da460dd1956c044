"""Search for judged pairs by how their ids begin, or by text."""

from infra.ids import CodeId, PairKey, QueryId, RecipeId
from infra.store.database import Database


def find_judged(database: Database, query: str, code: str) -> list[tuple[PairKey, RecipeId]]:
    """Return the keys and recipes of all annotations of pairs that are named so, newest first.

    Args:
        database: The store.
        query: How the query's id begins, or a part of its text in upper or lower case.
        code: Likewise of the code, such as the function's name.
    """
    with database.transaction() as tx:
        rows = tx.rows(
            "SELECT query_id, code_id, recipe_id FROM annotations "
            "JOIN queries USING (query_id) JOIN codes USING (code_id) "
            "WHERE CASE WHEN regexp_full_match($1, 'q[0-9a-f]+') THEN starts_with(query_id, $1) "
            "ELSE contains(lower(queries.text), lower($1)) END "
            "AND CASE WHEN regexp_full_match($2, 'c[0-9a-f]+') THEN starts_with(code_id, $2) "
            "ELSE contains(lower(codes.text), lower($2)) END "
            "ORDER BY query_id, code_id, annotated_at DESC, annotations.rowid DESC",
            [" ".join(query.split()), code],
        )
    return [
        (PairKey(QueryId(str(query_id)), CodeId(str(code_id))), RecipeId(str(recipe_id)))
        for query_id, code_id, recipe_id in rows
    ]
