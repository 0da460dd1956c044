"""Labels of a collection's candidates by the agents: what most labelling rounds say."""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from infra.ids import RecipeId, SearchId
from infra.records import Support
from infra.store.database import Database

# One row a pair. A label whose support is not exported is no vote; `said` counts it all the same.
_PAIRS = """
    CREATE TEMP TABLE decided AS
    WITH pairs AS (
        SELECT DISTINCT query_id, code_id FROM candidates
        SEMI JOIN (SELECT query_id FROM collection_queries WHERE collection = $collection)
            USING (query_id)
        SEMI JOIN (SELECT code_id FROM collection_codes WHERE collection = $collection)
            USING (code_id)
        WHERE list_contains($searches, search_id)
    ), counted AS (
        SELECT query_id, code_id, count(*) AS judged, bool_or(demo) AS demo,
            bool_or(status = 'failed') AS failed,
            count(*) FILTER (label = 1) AS ones, count(*) FILTER (label = 0) AS zeros,
            count(*) FILTER (label IS NULL) AS none,
            count(*) FILTER (label = 1 AND list_contains($support, grade)) AS votes,
            count(*) FILTER (label = 0 AND list_contains($support, grade)) AS against,
            arg_min(reason, list_position($rounds, recipe_id)) AS reason
        FROM annotations SEMI JOIN pairs USING (query_id, code_id)
        WHERE list_contains($rounds, recipe_id) GROUP BY query_id, code_id
    )
    SELECT *, (CASE WHEN 2 * against > $number THEN 0 WHEN 2 * votes > $number THEN 1 END)::DOUBLE
            AS relevance,
        judged < $number OR failed AS unfinished,
        greatest(ones, zeros) * 2 > $number AS agreed
    FROM counted
"""


class Decided(NamedTuple):
    """What the agents say of a collection's candidates, in columns ascending by query and code.

    Attributes:
        labels: ``query_id``, ``code_id``, ``relevance``, ``demo``.
        undecided: ``query_id``, ``code_id``, ``reason``: pairs that every round has finished, of
            which no label has more than half.
        unfinished: Number of pairs without a label that a later run may give one.
        queries: The ids of the queries with an annotation.
    """

    labels: pa.Table
    undecided: pa.Table
    unfinished: int
    queries: pa.Array


def decide_labels(
    database: Database,
    search_ids: Sequence[SearchId],
    collection: str,
    rounds: Sequence[RecipeId],
    support: Sequence[Support],
) -> Decided:
    """Return the labels that more than half of all rounds give, and the pairs without.

    Args:
        database: The store.
        search_ids: The searches that found the candidates.
        collection: Whose queries and codes they are.
        rounds: The recipes of all labelling rounds; of one round, its labels count.
        support: What a label must rest on to be a vote.
    """
    with database.transaction() as tx:
        tx.connection.execute(
            _PAIRS,
            {
                "collection": collection, "searches": list(search_ids), "rounds": list(rounds),
                "support": list(support), "number": len(rounds),
            },
        )  # fmt: skip
        several = (
            f"'no label has more than half of {len(rounds)} rounds: ' || ones || ' say 1, ' "
            "|| zeros || ' say 0, ' || none || ' say neither'"
        )
        found = Decided(
            labels=tx.arrow(
                "SELECT query_id, code_id, relevance, demo FROM decided "
                "WHERE relevance IS NOT NULL ORDER BY query_id, code_id"
            ),
            undecided=tx.arrow(
                f"SELECT query_id, code_id, {several if len(rounds) > 1 else 'reason'} AS reason "  # noqa: S608
                "FROM decided WHERE relevance IS NULL AND NOT unfinished AND NOT agreed "
                "ORDER BY query_id, code_id"
            ),
            unfinished=tx.count(
                "SELECT count(*) FROM decided WHERE relevance IS NULL AND unfinished"
            ),
            queries=tx.arrow("SELECT DISTINCT query_id FROM decided")["query_id"].combine_chunks(),
        )
        tx.execute("DROP TABLE decided")
    return found
