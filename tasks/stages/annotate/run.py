"""A run over the candidates of a search, and its labelling rounds."""

from dataclasses import dataclass, replace
from typing import Self

from agents import recipe_of
from infra.identity import RecipeId, mark_of
from infra.settings import (
    CommitteeSettings,
    RaySettings,
    ReannotationSettings,
    Settings,
    StoreSettings,
)
from tasks.runtime.references import RecipeReference, SearchReference


@dataclass(frozen=True)
class AnnotationRun:
    """A run of the agents over the candidates of a search.

    Attributes:
        search: The candidates.
        recipe: The recipe of the first labelling round.
        committee: The agents, their model and the sandbox.
        policy: For which reasons pairs are judged, how many, and for how much.
        store: The store.
        ray: The cluster that runs shards.
        is_approved: Whether nobody has to agree to the plan.
        accepts_gold: Whether it goes on whatever the model says of gold questions.
    """

    search: SearchReference
    recipe: RecipeReference
    committee: CommitteeSettings
    policy: ReannotationSettings
    store: StoreSettings
    ray: RaySettings
    is_approved: bool = True
    accepts_gold: bool = False

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
            accepts_gold=settings.publish.accept_gold,
        )

    def of_all(self) -> Self:
        """Return the run that takes all pending pairs, whatever the reasons of other runs are."""
        limits = {"pairs": self.policy.pairs, "budget_usd": self.policy.budget_usd}
        policy = ReannotationSettings.model_validate({"retry_all": True, **limits})
        return replace(self, policy=policy)

    def of_queries(self, number: int) -> Self:
        """Return the run over so many queries only, drawn by the seed."""
        annotation = self.committee.annotation.model_copy(update={"limit": number})
        return replace(self, committee=replace(self.committee, annotation=annotation))

    @property
    def rounds(self) -> list[RecipeReference]:
        """The recipes of all labelling rounds, in order."""
        sandbox = self.recipe.sandbox
        return [
            self.recipe.model_copy(
                update={
                    "recipe_id": RecipeId(mark_of(recipe_of(self.committee, sandbox, number))),
                    "labelling_round": number,
                }
            )
            for number in range(1, self.committee.annotation.rounds + 1)
        ]
