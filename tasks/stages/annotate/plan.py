"""The plan of an annotation run: the recipe, the number of pending pairs, and the canaries."""

import asyncio

from prefect import task
from prefect.logging import get_run_logger

from agents import recipe_of
from agents.committee.configurations import CONFIGURATIONS
from infra.identity import digest_of
from infra.ids import PairKey, RecipeId
from infra.records import Record
from infra.settings import AnnotationSettings, SandboxSettings, Settings
from infra.store import Database, annotations, open_database, pending, recipes
from infra.store.pending import PairCounts, Selection
from sandbox.backends import make_sandbox
from tasks.runtime.references import AnnotationReference, RecipeReference, SearchReference
from tasks.stages.annotate.canaries import Canary, load_judged_canaries, next_canaries


class KnownLabel(Record):
    """The key of a canary, and its known label."""

    key: PairKey
    label: int


class AnnotationPlan(Record):
    """The pairs to judge of a search under a recipe, as counts and keys.

    Attributes:
        reference: The search and the recipe's id.
        recipe: The recipe.
        limit: Number of the collection's queries, from the first; None takes all.
        pending: Number of candidates to judge.
        canaries: Pairs with known labels to judge among them.
    """

    reference: AnnotationReference
    recipe: RecipeReference
    limit: int | None = None
    pending: int = 0
    canaries: tuple[KnownLabel, ...] = ()

    @property
    def pairs(self) -> int:
        """Number of pairs to judge, with canaries."""
        return self.pending + len(self.canaries)

    @property
    def selection(self) -> Selection:
        """The store's selection of the candidates."""
        return selection_of(self.reference, self.limit)


def selection_of(reference: AnnotationReference, limit: int | None) -> Selection:
    """Return the store's selection of a search's candidates under a recipe."""
    return Selection(
        search_id=reference.search_id,
        collection=reference.collection,
        recipe_id=reference.recipe_id,
        limit=limit,
    )


def current_recipe(settings: Settings) -> RecipeReference:
    """Return the recipe of the settings: everything that could change a label.

    It queries the sandbox's engine for its image if the configuration runs programs.

    Raises:
        EngineUnavailableError: No Docker engine answers.
        ImageMissingError: The sandbox image is missing.
    """
    runs = CONFIGURATIONS[settings.annotation.configuration].executor == "box"
    sandbox = asyncio.run(_sandbox_description(settings.sandbox)) if runs else ""
    return RecipeReference(
        recipe_id=RecipeId(digest_of(recipe_of(settings, sandbox))),
        model=settings.llm.model,
        demo=settings.llm.is_demo,
        sandbox=sandbox,
    )


async def _sandbox_description(settings: SandboxSettings) -> str:
    sandbox = make_sandbox(settings)
    try:
        return await sandbox.check()
    finally:
        await sandbox.close()


def rounds_of(recipe: RecipeReference, settings: Settings) -> list[RecipeReference]:
    """Return the recipes of all labelling rounds of the settings, in order.

    Args:
        recipe: What `current_recipe` returned for these settings, or another of the rounds.
        settings: The settings.
    """
    return [
        recipe.model_copy(
            update={
                "recipe_id": RecipeId(digest_of(recipe_of(settings, recipe.sandbox, number))),
                "labelling_round": number,
            }
        )
        for number in range(1, settings.annotation.rounds + 1)
    ]


def record_rounds(
    database: Database, recipe: RecipeReference, settings: Settings, collection: str
) -> None:
    """Store the recipes of all rounds, and that these are the ones in use on a collection."""
    bodies = {
        item.recipe_id: recipe_of(settings, item.sandbox, item.labelling_round)
        for item in rounds_of(recipe, settings)
    }
    recipes.record_recipes(database, bodies, demo=recipe.demo, used_on=collection)


@task(name="plan-annotation")
def plan_annotation(
    search: SearchReference, recipe: RecipeReference, settings: Settings
) -> AnnotationPlan:
    """Count the pending pairs of a search under a round's recipe, and choose its canaries."""
    database = open_database(settings.store)
    record_rounds(database, recipe, settings, search.collection)
    reference = AnnotationReference(
        recipe_id=recipe.recipe_id,
        rounds=tuple(item.recipe_id for item in rounds_of(recipe, settings)),
        search_id=search.search_id,
        collection=search.collection,
        model=recipe.model,
        demo=recipe.demo,
    )
    limit = settings.annotation.limit
    counts = pending.count_pairs(database, selection_of(reference, limit))
    logger = get_run_logger()
    if not search.queries:
        logger.info("there is nothing to annotate: collection %s has no queries", search.collection)
    logger.info(
        "%s of %s pairs of %s are left to judge by %s%s", f"{counts.pending:,}",
        f"{counts.candidates:,}", search.collection, recipe.model, in_round(recipe, settings),
    )  # fmt: skip
    if counts.without_code:
        logger.warning(
            "%s more pairs are skipped: their code is not in collection %s",
            f"{counts.without_code:,}", search.collection,
        )  # fmt: skip
    to_judge = pairs_to_judge(counts, settings.annotation, demo=recipe.demo)
    if to_judge < counts.pending:
        logger.info(
            "%s is the demo model, whose labels are not meaningful: it judges %s of them",
            recipe.model, to_judge,
        )  # fmt: skip
    canaries = _recorded_canaries(database, recipe, to_judge, settings)
    return AnnotationPlan(
        reference=reference,
        recipe=recipe,
        limit=limit,
        pending=to_judge,
        canaries=tuple(KnownLabel(key=canary.key, label=canary.label) for canary in canaries),
    )


def in_round(recipe: RecipeReference, settings: Settings) -> str:
    """Return ", round 2 of 3", or nothing where there is one round."""
    rounds = settings.annotation.rounds
    return f", round {recipe.labelling_round} of {rounds}" if rounds > 1 else ""


def pairs_to_judge(counts: PairCounts, annotation: AnnotationSettings, *, demo: bool) -> int:
    """Return how many pending pairs a run judges; all runs of the demo model share a limit."""
    if not demo:
        return counts.pending
    finished = counts.candidates - counts.pending - counts.without_code
    return min(counts.pending, max(0, annotation.demo_pairs - finished))


def _recorded_canaries(
    database: Database, recipe: RecipeReference, pairs: int, settings: Settings
) -> tuple[Canary, ...]:
    """Choose and store the canaries of a run over this number of pairs."""
    if not pairs:
        return ()
    judged, _ = load_judged_canaries(database, recipe.recipe_id)
    done = {item.key for item in judged if item.status != "failed"}
    canaries = next_canaries(done, pairs, settings.annotation, demo=recipe.demo)
    annotations.record_pairs(database, [canary.pair for canary in canaries])
    return canaries
