"""Table of recipes: everything that could change a label of the agents."""

import json
from collections.abc import Mapping, Sequence

from infra.ids import RecipeId, SearchId
from infra.records import Record
from infra.store.annotations import OF_SEARCHES
from infra.store.database import Database


class StoredRecipe(Record):
    """A stored recipe: its id, its model, and whether that is the demo model."""

    recipe_id: RecipeId
    model: str
    demo: bool


def record_recipe(
    database: Database, recipe_id: RecipeId, body: Mapping[str, object], *, demo: bool
) -> None:
    """Store a recipe once, and set the time of its last use."""
    row = {"recipe_id": recipe_id, "body": json.dumps(body, sort_keys=True), "demo": demo}
    with database.transaction() as tx:
        tx.insert("recipes", [row], on_conflict="ignore")
        tx.execute("UPDATE recipes SET used_at = now() WHERE recipe_id = ?", [recipe_id])


def load_recipe(database: Database, recipe_id: RecipeId) -> dict[str, object]:
    """Return a recipe's body."""
    with database.transaction() as tx:
        body = tx.value("SELECT body FROM recipes WHERE recipe_id = ?", [recipe_id])
    loaded: dict[str, object] = json.loads(str(body))
    return loaded


def recipe_ids(database: Database) -> list[RecipeId]:
    """Return the ids of all recipes with annotations, oldest first."""
    with database.transaction() as tx:
        rows = tx.rows(
            "SELECT recipe_id FROM recipes SEMI JOIN annotations USING (recipe_id) "
            "ORDER BY created_at, recipe_id"
        )
    return [RecipeId(str(recipe_id)) for (recipe_id,) in rows]


def latest_recipe(database: Database, search_ids: Sequence[SearchId]) -> StoredRecipe | None:
    """Return the last used recipe of those that annotated candidates of searches, or None.

    A run that finds nothing left to judge uses its recipe too: a user who returns to former
    settings expects their labels.
    """
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT recipe_id, "  # noqa: S608 - literals only
            "body->>'$.model.model' AS model, recipes.demo FROM annotations "
            f"JOIN recipes USING (recipe_id) {OF_SEARCHES} "
            "ORDER BY used_at DESC, annotated_at DESC LIMIT 1",
            [list(search_ids)],
        )
    return StoredRecipe.model_validate(rows[0]) if rows else None
