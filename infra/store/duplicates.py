"""Pending pairs of queries that have labelled pairs already, of which they may be duplicates."""

from collections.abc import Sequence
from typing import NamedTuple

from infra.ids import CodeId, PairKey, QueryId, RecipeId
from infra.store.database import Database
from infra.store.pending import CoverageRow, Selection, classified

_PENDING = "SELECT query_id, code_id FROM classified WHERE reason IS NOT NULL AND readable"
# Candidates or not; what was judged itself comes before its duplicates.
_LABELLED = f"""
    SELECT query_id, code_id, recipe_id FROM (
        SELECT a.*, coalesce(fresh, false) OR a.recipe_id = ? AS is_fresh
        FROM annotations AS a LEFT JOIN coverage AS c
        ON a.recipe_id = c.recipe_id AND a.met = c.met
    ) WHERE is_fresh AND status = 'labelled'
    AND query_id IN (SELECT query_id FROM ({_PENDING}))
    ORDER BY query_id, decided_by = 'duplicate', annotated_at, code_id
"""  # noqa: S608 - literals only


class BesideLabels(NamedTuple):
    """The pairs of a query: those pending, and those labelled, with the recipes of their labels."""

    pending: list[PairKey]
    labelled: list[tuple[PairKey, RecipeId]]


def pairs_beside_labels(
    database: Database, selection: Selection, coverage: Sequence[CoverageRow]
) -> list[BesideLabels]:
    """Return the queries that have pairs pending under a recipe and others with a fresh label.

    Args:
        database: The store.
        selection: The candidates and the recipe.
        coverage: Which stored labels are those that the recipe would give.
    """
    with classified(database, selection, coverage) as tx:
        labelled = tx.rows(_LABELLED, [selection.recipe_id])
        pending = tx.rows(f"{_PENDING} ORDER BY query_id, code_id") if labelled else []
    found: dict[str, BesideLabels] = {}
    for query, code, recipe in labelled:
        key = PairKey(QueryId(str(query)), CodeId(str(code)))
        of_query = found.setdefault(key.query_id, BesideLabels([], []))
        of_query.labelled.append((key, RecipeId(str(recipe))))
    for query, code in pending:
        if of_pending := found.get(str(query)):
            of_pending.pending.append(PairKey(QueryId(str(query)), CodeId(str(code))))
    return list(found.values())
