"""Coverage: which recipes are compatible, which were in use, and whose labels count for which."""

from collections.abc import Mapping, Sequence

from agents.committee.recipe import criterion_of, dependency_of
from infra.identity import RecipeId, SearchId
from infra.records import Criterion
from infra.store import Database, annotations
from infra.store.annotations import RecipeBody, StoredRecipe
from infra.store.labels import Coverage, CurrentLabels, JudgedBy, judged_by

Bodies = Mapping[RecipeId, RecipeBody]
Rounds = Sequence[RecipeId]  # the recipes of all labelling rounds that were in use together


def labels_by(
    database: Database,
    collection: str,
    search_ids: Sequence[SearchId],
    rounds: Rounds,
    more: Bodies | None = None,
) -> CurrentLabels:
    """Return the labels of candidates by rounds' recipes, and by all before that are comparable.

    ``more`` has the bodies of recipes that may not be stored.
    """
    bodies = {**annotations.load_recipes(database), **(more or {})}
    sets = [tuple(rounds)]
    for recipe in annotations.used_recipes(database, collection):
        if recipe.rounds in sets:
            continue
        # Their labels answer one question.
        if criterion_of(bodies[recipe.recipe_id]) == criterion_of(bodies[rounds[0]]):
            sets.append(recipe.rounds)
    return CurrentLabels(
        collection=collection,
        search_ids=tuple(search_ids),
        sets=tuple(sets),
        covered=tuple(_covered(sets, judged_by(database, collection, search_ids), bodies)),
    )


def last_recipe(
    database: Database,
    collection: str,
    search_ids: Sequence[SearchId],
    criterion: Criterion | None = None,
) -> StoredRecipe | None:
    """Return the recipe last in use of those for which an annotation of candidates counts.

    Of those by a criterion, if one is given.
    """
    judged = judged_by(database, collection, search_ids)
    if not judged:
        return None
    bodies = annotations.load_recipes(database)
    used = annotations.used_recipes(database, collection)
    counts = (
        recipe
        for recipe in used
        if criterion in (None, criterion_of(bodies[recipe.recipe_id]))
        and _covered([recipe.rounds], judged, bodies)
    )
    return next(counts, None)


def current_labels_of(
    database: Database,
    collection: str,
    search_ids: Sequence[SearchId],
    criterion: Criterion | None = None,
) -> CurrentLabels:
    """Return the current labels of candidates, by the recipe last in use (`last_recipe`)."""
    if recipe := last_recipe(database, collection, search_ids, criterion):
        return labels_by(database, collection, search_ids, recipe.rounds)
    return CurrentLabels(collection=collection, search_ids=tuple(search_ids))


def _covered(sets: Sequence[Rounds], judged: Sequence[JudgedBy], bodies: Bodies) -> list[Coverage]:
    """Return the annotations that count for each round of each set.

    What counts for a set of one round is left out of all later ones of one round: it would say the
    same again.
    """
    covered = []
    for item in judged:
        if item.recipe_id not in bodies:
            continue
        rests_on = dependency_of(bodies[item.recipe_id], item.roles_asked)
        is_settled = False
        for number, rounds in enumerate(sets):
            if is_settled and len(rounds) == 1:
                continue
            found = [
                Coverage(*item, number, place)
                for place, recipe_id in enumerate(rounds)
                if dependency_of(bodies[recipe_id], item.roles_asked) == rests_on
            ]
            covered += found
            is_settled = is_settled or (bool(found) and len(rounds) == 1)
    return covered
