"""Table of plans: what each annotation run was to do, and who agreed."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Literal
from uuid import uuid4

from infra.ids import RecipeId
from infra.records import Record
from infra.store.database import Database

Decision = Literal["waiting", "approved", "declined", "unasked"]


class StoredPlan(Record):
    """A stored plan; ``body`` is the whole of it, as it was recorded."""

    plan_id: str
    collection: str
    recipe_id: RecipeId
    body: dict[str, object]
    decision: Decision
    decided_by: str
    planned_at: datetime


def record_plan(
    database: Database,
    collection: str,
    recipe_id: RecipeId,
    body: Mapping[str, object],
    decision: Decision = "unasked",
) -> str:
    """Store a plan; return its id.

    Args:
        database: The store.
        collection: Whose pairs are planned.
        recipe_id: The recipe that is to judge them.
        body: The plan, fit for JSON.
        decision: ``waiting`` where somebody is to decide, ``unasked`` where nobody is.
    """
    plan_id = uuid4().hex[:12]
    row = {
        "plan_id": plan_id,
        "collection": collection,
        "recipe_id": recipe_id,
        "body": json.dumps({**body, "plan_id": plan_id}, sort_keys=True),
        "decision": decision,
    }
    with database.transaction() as tx:
        tx.insert("plans", [row])
    return plan_id


def decide_plan(database: Database, plan_id: str, decision: Decision, decided_by: str = "") -> None:
    """Store what was decided on a plan, and by whom if that is known."""
    with database.transaction() as tx:
        tx.execute(
            "UPDATE plans SET decision = ?, decided_by = ? WHERE plan_id = ?",
            [decision, decided_by, plan_id],
        )


def last_plans(database: Database, limit: int = 1, collection: str = "") -> list[StoredPlan]:
    """Return the newest plans, of one collection or of all, newest first."""
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT * FROM plans WHERE ? IN ('', collection) "
            "ORDER BY planned_at DESC, rowid DESC LIMIT ?",
            [collection, limit],
        )
    return [StoredPlan.model_validate(row | {"body": json.loads(str(row["body"]))}) for row in rows]
