"""Coverage of pairs by recipes: whose labels count for which, since they rest on the same."""

from collections.abc import Iterator, Mapping, Sequence

from agents.committee.recipe import criterion_of, dependency_of, is_demo
from infra.ids import RecipeId, SearchId
from infra.store import Database, recipes
from infra.store.coverage import Coverage, Covered, JudgedBy, judged_by
from infra.store.recipes import Body, StoredRecipe

Rounds = Sequence[Body]  # the bodies of all labelling rounds of a recipe


def coverage_of(database: Database, search_ids: Sequence[SearchId], current: Body) -> Coverage:
    """Return which annotations of searches' candidates count for a recipe, which for former ones.

    Args:
        database: The store.
        search_ids: The searches.
        current: The body of the recipe, which need not be stored.
    """
    bodies = recipes.load_bodies(database)
    used = recipes.used_recipes(database, search_ids)
    sets = [[current], *_comparable(current, used, bodies)]
    return _coverage(sets, judged_by(database, search_ids), bodies)


def coverage_of_recipe(
    database: Database, search_ids: Sequence[SearchId], recipe: StoredRecipe
) -> Coverage:
    """Return the same for a stored recipe with all its labelling rounds."""
    bodies = recipes.load_bodies(database)
    used = recipes.used_recipes(database, search_ids)
    rounds = [bodies[recipe_id] for recipe_id in recipe.rounds]
    others = [item for item in used if item.rounds != recipe.rounds]
    sets = [rounds, *_comparable(rounds[0], others, bodies)]
    return _coverage(sets, judged_by(database, search_ids), bodies)


def last_recipe(database: Database, search_ids: Sequence[SearchId]) -> StoredRecipe | None:
    """Return the recipe last in use of those for which an annotation of the searches counts."""
    judged = judged_by(database, search_ids)
    used = recipes.used_recipes(database, search_ids) if judged else []
    bodies = recipes.load_bodies(database) if used else {}
    for recipe in used:
        rounds = [bodies[recipe_id] for recipe_id in recipe.rounds]
        if _coverage([rounds], judged, bodies).covered:
            return recipe
    return None


def _comparable(
    current: Body, used: Sequence[StoredRecipe], bodies: Mapping[RecipeId, Body]
) -> Iterator[Rounds]:
    """Yield the recipes that answer the same question; those of the demo model stay by themselves.

    Rounds of the same set differ in nothing of this.
    """
    for recipe in used:
        first = bodies[recipe.recipe_id]
        same = criterion_of(first) == criterion_of(current) and is_demo(first) == is_demo(current)
        if same:
            yield [bodies[recipe_id] for recipe_id in recipe.rounds]


def _coverage(
    sets: Sequence[Rounds], judged: Sequence[JudgedBy], bodies: Mapping[RecipeId, Body]
) -> Coverage:
    """Return which annotations count for which rounds of which sets.

    What counts for a set of one round is left out of all later ones of one round: it would say the
    same again.
    """
    covered = []
    for item in judged:
        if item.recipe_id not in bodies:
            continue
        rests_on = dependency_of(bodies[item.recipe_id], item.met)
        is_settled = False
        for number, rounds in enumerate(sets):
            if is_settled and len(rounds) == 1:
                continue
            found = [
                Covered(*item, number, place)
                for place, body in enumerate(rounds)
                if dependency_of(body, item.met) == rests_on
            ]
            covered += found
            is_settled = is_settled or (bool(found) and len(rounds) == 1)
    return Coverage(covered=tuple(covered), rounds=tuple(map(len, sets)))
