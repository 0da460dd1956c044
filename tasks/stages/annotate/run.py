"""A run over the candidates of a search, and its labelling rounds."""

from dataclasses import dataclass, replace

from agents import recipe_of
from infra.identity import mark_of
from infra.ids import RecipeId
from infra.settings import Settings
from infra.store.recipes import Body
from tasks.runtime.references import RecipeReference, SearchReference


@dataclass(frozen=True)
class AnnotationRun:
    """What is judged, by whom and how: in a whole run or in one of its rounds.

    Attributes:
        search: The candidates.
        recipe: The recipe; of a whole run that of its first round.
        settings: The settings.
    """

    search: SearchReference
    recipe: RecipeReference
    settings: Settings

    @property
    def rounds(self) -> list["AnnotationRun"]:
        """All labelling rounds, in order."""
        return [replace(self, recipe=each) for each in rounds_of(self.recipe, self.settings)]

    @property
    def body(self) -> Body:
        """The recipe's body."""
        return recipe_of(self.settings, self.recipe.sandbox, self.recipe.labelling_round)

    def by(self, settings: Settings) -> "AnnotationRun":
        """Return the same by other settings."""
        return replace(self, settings=settings)


def rounds_of(recipe: RecipeReference, settings: Settings) -> list[RecipeReference]:
    """Return the recipes of all labelling rounds of the settings, in order.

    Args:
        recipe: What `current_recipe` returned for these settings, or another of the rounds.
        settings: The settings.
    """
    return [
        recipe.model_copy(
            update={
                "recipe_id": RecipeId(mark_of(recipe_of(settings, recipe.sandbox, number))),
                "labelling_round": number,
            }
        )
        for number in range(1, settings.annotation.rounds + 1)
    ]
