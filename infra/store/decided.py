"""Labels of a collection's candidates by the agents: the current ones, and the pairs without."""

from typing import NamedTuple

import pyarrow as pa

from infra.store.database import Database
from infra.store.standing import CurrentLabels, standing

_UNDECIDED = """
    SELECT query_id, code_id, CASE WHEN standing.rounds = 1 THEN reason ELSE
        'no label has more than half of ' || standing.rounds || ' rounds: ' || ones || ' say 1, '
        || zeros || ' say 0, ' || none || ' say neither' END AS reason
    FROM standing JOIN basis USING (query_id, code_id, round)
    JOIN annotations USING (query_id, code_id, recipe_id)
    WHERE relevance IS NULL AND is_complete AND NOT greatest(ones, zeros) * 2 > standing.rounds
    ORDER BY query_id, code_id
"""


class Decided(NamedTuple):
    """What the agents say of a collection's candidates, in columns ascending by query and code.

    Attributes:
        labels: ``query_id``, ``code_id``, ``relevance``, ``demo``, ``origin``, and ``fresh``:
            whether the recipe in use has judged the pair; others wait to be judged anew.
        undecided: ``query_id``, ``code_id``, ``reason``: pairs that every round has finished, of
            which no label has more than half.
        unfinished: Number of pairs without a label that a later run may give one.
        queries: The ids of the queries with an annotation.
    """

    labels: pa.Table
    undecided: pa.Table
    unfinished: int
    queries: pa.Array


def decide_labels(database: Database, labels: CurrentLabels) -> Decided:
    """Return the current labels, and the pairs without."""
    with database.transaction() as tx, standing(tx, labels):
        return Decided(
            labels=tx.arrow(
                "SELECT query_id, code_id, relevance, demo, origin, fresh "
                "FROM standing WHERE relevance IS NOT NULL ORDER BY query_id, code_id"
            ),
            undecided=tx.arrow(_UNDECIDED),
            unfinished=tx.count(
                "SELECT (SELECT count(*) FROM failed) + (SELECT count(*) FROM standing "
                "WHERE relevance IS NULL AND NOT is_complete)"
            ),
            queries=tx.arrow("SELECT query_id FROM standing UNION SELECT query_id FROM failed")[
                "query_id"
            ].combine_chunks(),
        )
