"""Specifications of queries among the stored calls of the agents."""

from infra.records import Record
from infra.store.database import Database
from infra.store.standing import IN_BASIS, CurrentLabels, standing


class StoredReply(Record):
    """A reply of an agent that is the same for all candidates of a query."""

    query_id: str
    recipe_id: str
    model: str
    reply: str


def replies_on_queries(database: Database, labels: CurrentLabels, role: str) -> list[StoredReply]:
    """Return what an agent said of queries, ascending by query and recipe, each reply once.

    Args:
        database: The store.
        labels: The labels; replies on whose pairs no label rests are left out.
        role: The agent's.
    """
    with database.transaction() as tx, standing(tx, labels):
        rows = tx.dicts(
            "SELECT DISTINCT query_id, recipe_id, model, reply "  # noqa: S608 - literals only
            f"FROM llm_calls {IN_BASIS} WHERE role = ? AND status = 'ok' "
            "ORDER BY ALL",
            [role],
        )
    return [StoredReply.model_validate(row) for row in rows]
