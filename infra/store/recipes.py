"""Tables of recipes: everything that could change a label of the agents, and when it was in use."""

import json
from collections.abc import Mapping

from infra.identity import RecipeId
from infra.records import Record
from infra.store.database import Database

Body = Mapping[str, object]


class StoredRecipe(Record):
    """A stored recipe.

    Attributes:
        recipe_id: Its id; of several labelling rounds that of the first.
        model: Its model.
        rounds: The ids of all labelling rounds that were in use together, in order.
    """

    recipe_id: RecipeId
    model: str
    rounds: tuple[RecipeId, ...]


def record_recipes(
    database: Database,
    bodies: Mapping[RecipeId, Body],
    used_on: str | None = None,
) -> None:
    """Store recipes once.

    Args:
        database: The store.
        bodies: Id → body, of all labelling rounds in order.
        used_on: The collection whose pairs they judge from now on, together, which is stored with
            the time: labels by the recipes last used stand before others. None where they judge
            something else.
    """
    rows = [
        {"recipe_id": recipe_id, "body": json.dumps(body, sort_keys=True)}
        for recipe_id, body in bodies.items()
    ]
    with database.transaction() as tx:
        tx.insert("recipes", rows, on_conflict="ignore")
        if used_on is None:
            return
        rounds = list(bodies)
        # A clock may have been set back: the last use has the latest time all the same.
        tx.execute(
            "INSERT INTO recipe_uses SELECT ?, ?, greatest(now(), coalesce("
            "max(used_at) + INTERVAL 1 microsecond, now())) FROM recipe_uses",
            [used_on, rounds],
        )
        tx.execute(
            "DELETE FROM recipe_uses WHERE collection = ? AND rounds = ? "
            "AND used_at < (SELECT max(used_at) FROM recipe_uses)",
            [used_on, rounds],
        )


def load_recipe(database: Database, recipe_id: RecipeId) -> dict[str, object]:
    """Return a recipe's body."""
    [body] = database.column("SELECT body FROM recipes WHERE recipe_id = ?", [recipe_id])
    loaded: dict[str, object] = json.loads(body)
    return loaded


def model_of(body: Body) -> str:
    """Return the model of a recipe, "" where it has none."""
    model = body.get("model")
    return str(model.get("model", "")) if isinstance(model, dict) else ""


def load_bodies(database: Database) -> dict[RecipeId, Body]:
    """Return recipe → body of all stored recipes."""
    rows = database.rows("SELECT recipe_id, body FROM recipes")
    return {recipe_id: json.loads(body) for recipe_id, body in rows}


def used_recipes(database: Database, collection: str) -> list[StoredRecipe]:
    """Return the recipes that were in use on a collection, the last one first.

    A run that finds nothing left to judge uses its recipe too: a user who returns to former
    settings expects their labels.
    """
    return database.records(
        StoredRecipe,
        "SELECT rounds[1] AS recipe_id, body->>'$.model.model' AS model, rounds "
        "FROM recipe_uses JOIN recipes ON recipe_id = rounds[1] "
        "WHERE collection = ? ORDER BY used_at DESC",
        [collection],
    )
