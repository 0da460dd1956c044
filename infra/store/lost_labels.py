"""Reasons why pairs that were labelled in an earlier export have no label in the next one."""

import pyarrow as pa

from infra.store.database import Database
from infra.store.standing import CurrentLabels, standing

LEFT_OUT = "labelled, but left out of the export"

_HELD = """
    FROM lost
    LEFT JOIN (SELECT query_id, true AS has_query FROM collection_queries WHERE collection = $name)
        USING (query_id)
    LEFT JOIN (SELECT code_id, true AS has_code FROM collection_codes WHERE collection = $name)
        USING (code_id)
"""
_OF_AGENTS = f"""
    SELECT CASE
        WHEN has_query IS NULL THEN 'the collection has lost the query'
        WHEN has_code IS NULL THEN 'the collection has lost the code'
        WHEN is_candidate IS NULL THEN 'the code is no candidate of the query any more'
        WHEN relevance IS NOT NULL THEN $left_out
        WHEN has_label THEN 'the label has not the support that is exported'
        WHEN is_complete THEN 'the pair is undecided'
        WHEN is_complete IS NOT NULL OR has_failed THEN 'the pair is not judged to the end'
        ELSE 'no comparable recipe has judged the pair' END AS reason, count(*)
    {_HELD}
    LEFT JOIN (SELECT query_id, code_id, true AS is_candidate FROM label_pairs)
        USING (query_id, code_id)
    LEFT JOIN (SELECT query_id, code_id, true AS has_failed FROM failed) USING (query_id, code_id)
    LEFT JOIN standing USING (query_id, code_id)
    GROUP BY reason
"""  # noqa: S608 - literals only
_OF_SOURCE = f"""
    SELECT CASE
        WHEN has_query IS NULL THEN 'the collection has lost the query'
        WHEN has_code IS NULL THEN 'the collection has lost the code'
        WHEN is_labelled THEN $left_out
        ELSE 'the source labels the pair no more' END AS reason, count(*)
    {_HELD}
    LEFT JOIN (SELECT DISTINCT query_id, code_id, true AS is_labelled FROM source_labels
               WHERE collection = $name) USING (query_id, code_id)
    GROUP BY reason
"""  # noqa: S608 - literals only


def why_lost(
    database: Database, pairs: pa.Table, collection: str, labels: CurrentLabels | None
) -> dict[str, int]:
    """Return reason → number of pairs that have no label in an export any more.

    Args:
        database: The store.
        pairs: The pairs: ``query_id``, ``code_id``.
        collection: Whose pairs they are.
        labels: The current labels of the agents; None for labels that came with the source.
    """
    parameters = {"name": collection, "left_out": LEFT_OUT}
    with database.transaction() as tx, tx.stream("lost", pairs):
        if labels is None:
            rows = tx.rows(_OF_SOURCE, parameters)
        else:
            with standing(tx, labels):
                rows = tx.rows(_OF_AGENTS, parameters)
    return dict(sorted((str(reason), int(str(number))) for reason, number in rows))
