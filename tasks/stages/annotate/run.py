"""A run over the candidates of a search, and its labelling rounds."""

from dataclasses import dataclass, replace
from typing import Self

from agents import recipe_of
from infra.identity import mark_of
from infra.ids import RecipeId
from infra.settings import (
    CommitteeSettings,
    RaySettings,
    ReannotationSettings,
    Settings,
    StoreSettings,
)
from infra.store.recipes import Body
from tasks.runtime.references import RecipeReference, SearchReference

_PLACES_A_SHARD = 16  # one with fewer would wait for the model more than it works


@dataclass(frozen=True)
class AnnotationRun:
    """What is judged, by whom and how: in a whole run or in one of its rounds.

    Attributes:
        search: The candidates.
        recipe: The recipe; of a whole run that of its first round.
        committee: Who judges.
        policy: For which reasons pairs are judged, how many, and for how much.
        store: The store.
        ray: Where shards run.
        is_approved: Whether nobody has to agree to the plan.
    """

    search: SearchReference
    recipe: RecipeReference
    committee: CommitteeSettings
    policy: ReannotationSettings
    store: StoreSettings
    ray: RaySettings
    is_approved: bool = True

    @classmethod
    def of(cls, search: SearchReference, recipe: RecipeReference, settings: Settings) -> Self:
        """Return a run by the settings."""
        return cls(
            search=search,
            recipe=recipe,
            committee=settings.committee,
            policy=settings.reannotation,
            store=settings.store,
            ray=settings.ray,
            is_approved=not settings.operation.approve,
        )

    @property
    def rounds(self) -> list["AnnotationRun"]:
        """All labelling rounds, in order."""
        return [replace(self, recipe=each) for each in rounds_of(self.recipe, self.committee)]

    def shards_for(self, pairs: int) -> int:
        """Return how many shards of so many pairs are to be at work, if Ray has room for them."""
        return -(-min(self.committee.annotation.in_flight, pairs) // _PLACES_A_SHARD)

    @property
    def in_round(self) -> str:
        """A round in words: ", round 2 of 3", nothing where there is one."""
        rounds = self.committee.annotation.rounds
        return f", round {self.recipe.labelling_round} of {rounds}" if rounds > 1 else ""

    @property
    def body(self) -> Body:
        """The recipe's body."""
        return recipe_of(self.committee, self.recipe.sandbox, self.recipe.labelling_round)


def rounds_of(recipe: RecipeReference, committee: CommitteeSettings) -> list[RecipeReference]:
    """Return the recipes of all labelling rounds of a committee, in order.

    Args:
        recipe: What `current_recipe` returned for this committee, or another of the rounds.
        committee: Who judges.
    """
    return [
        recipe.model_copy(
            update={
                "recipe_id": RecipeId(mark_of(recipe_of(committee, recipe.sandbox, number))),
                "labelling_round": number,
            }
        )
        for number in range(1, committee.annotation.rounds + 1)
    ]
