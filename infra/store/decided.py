"""Labels of a collection's candidates by the agents: the current ones, and the pairs without."""

from typing import NamedTuple

import pyarrow as pa

from infra.store.database import Database
from infra.store.standing import CurrentLabels, standing

_LABELS = """
    SELECT query_id, code_id, relevance, origin, fresh,
        CASE WHEN given > 1 OR is_known THEN
            round(1 / (1 + exp(CASE relevance WHEN 1 THEN -odds ELSE odds END)), 6)
        END AS confidence
    FROM standing LEFT JOIN posteriors USING (query_id, code_id)
    WHERE relevance IS NOT NULL ORDER BY query_id, code_id
"""
_UNDECIDED = """
    SELECT query_id, code_id, CASE WHEN standing.rounds = 1 OR is_judged THEN reason ELSE
        'no label has more than half of ' || standing.rounds || ' rounds: ' || ones || ' say 1, '
        || zeros || ' say 0, ' || none || ' say neither' END AS reason
    FROM standing JOIN basis USING (query_id, code_id, round)
    JOIN annotations USING (query_id, code_id, recipe_id)
    WHERE relevance IS NULL AND is_complete AND NOT has_label
    ORDER BY query_id, code_id
"""
_APART = "a code of equal behaviour was judged by another recipe, or in more rounds"
# Labels of equal behaviour that were not compared with each other may differ: that is a reason too.
_BEHAVIOURS = f"""
    SELECT query_id, code_id, recipe_id, claims, outcomes, behaviour, label, agreed,
        CASE WHEN reason = '' AND behaviour <> '' AND min(relevance) OVER alike
            <> max(relevance) OVER alike THEN '{_APART}'
            ELSE reason END AS reason
    FROM code_behaviours JOIN basis USING (query_id, code_id, recipe_id)
    JOIN standing USING (query_id, code_id)
    JOIN (SELECT collection, comparison, claims FROM query_behaviours)
        USING (collection, comparison)
    WHERE collection = ? AND relevance IS NOT NULL
    WINDOW alike AS (PARTITION BY query_id, behaviour)
    ORDER BY query_id, code_id, recipe_id
"""  # noqa: S608 - literals only


class Decided(NamedTuple):
    """What the agents say of a collection's candidates, in columns ascending by query and code.

    Attributes:
        labels: ``query_id``, ``code_id``, ``relevance``, ``origin``, ``fresh``: whether the recipe
            in use has judged the pair; others wait to be judged anew; and ``confidence``:
            the probability that the label is right, by six digits, NULL where one judge alone voted
            whose errors were never seen.
        undecided: ``query_id``, ``code_id``, ``reason``: pairs that every round has finished, of
            which no label has more than half.
        behaviours: What the labelled codes did where they were compared by that, as in
            `infra.store.behaviours`, a row for each round: with ``query_id``, the ``claims`` of the
            query, and a reason wherever exported labels of equal behaviour differ.
        unfinished: Number of pairs without a label that a later run may give one.
        queries: The ids of the queries with an annotation.
        basis: ``query_id``, ``code_id``, ``recipe_id``, ``round``: the annotations that this rests
            on.
    """

    labels: pa.Table
    undecided: pa.Table
    behaviours: pa.Table
    unfinished: int
    queries: pa.Array
    basis: pa.Table


def decide_labels(database: Database, labels: CurrentLabels) -> Decided:
    """Return the current labels, and the pairs without."""
    with database.transaction() as tx, standing(tx, labels):
        return Decided(
            labels=tx.arrow(_LABELS),
            undecided=tx.arrow(_UNDECIDED),
            behaviours=tx.arrow(_BEHAVIOURS, [labels.collection]),
            unfinished=tx.count(
                "SELECT (SELECT count(*) FROM failed) + (SELECT count(*) FROM standing "
                "WHERE relevance IS NULL AND NOT is_complete AND NOT has_label)"
            ),
            queries=tx.arrow("SELECT query_id FROM standing UNION SELECT query_id FROM failed")[
                "query_id"
            ].combine_chunks(),
            basis=tx.arrow("SELECT query_id, code_id, recipe_id, round FROM basis"),
        )
