"""Current labels by recipes that rest on nothing in common."""

from collections.abc import Sequence
from itertools import combinations

from infra.identity import RecipeId, SearchId
from infra.records import Support
from infra.store.labels import Coverage, CurrentLabels

_MET = ("arbiter", "box", "coder", "screener")
_WAYS = [",".join(some) for size in range(len(_MET) + 1) for some in combinations(_MET, size)]


def labels_by(
    search: str,
    *sets: Sequence[str],
    support: Sequence[Support] = ("screened", "valid_oracle", "void_oracle", "undecided"),
    collection: str = "c",
) -> CurrentLabels:
    """Return the labels by sets of labelling rounds, the first of which is in use."""
    recipes = tuple(tuple(RecipeId(recipe_id) for recipe_id in rounds) for rounds in sets)
    covered = tuple(
        Coverage(recipe_id, met, number, place)
        for number, rounds in enumerate(recipes)
        for place, recipe_id in enumerate(rounds)
        for met in _WAYS
    )
    return CurrentLabels(
        collection=collection,
        search_ids=(SearchId(search),),
        sets=recipes,
        covered=covered,
        support=tuple(support),
    )
