"""The plan of an annotation run: the recipe, the pairs that are pending, and their shards."""

import asyncio

from prefect import task
from prefect.logging import get_run_logger

from agents import recipe_of
from agents.committee.configurations import CONFIGURATIONS
from infra.batches import batched
from infra.identity import digest_of
from infra.records import Pair, Record
from infra.settings import Settings
from infra.store import Database, annotations, candidates, corpus, open_database
from sandbox.backends import make_sandbox
from tasks.runtime.references import AnnotationReference, RecipeReference, SearchReference
from tasks.stages.annotate.canaries import (
    Canary,
    mixed_in,
    next_canaries,
)


class AnnotationPlan(Record):
    """What is left to judge: shards of pairs, canaries among them, under a recipe."""

    reference: AnnotationReference
    shards: tuple[tuple[Pair, ...], ...]
    canaries: tuple[Canary, ...] = ()

    @property
    def pairs(self) -> int:
        """How many pairs are left."""
        return sum(len(shard) for shard in self.shards)


def current_recipe(settings: Settings) -> RecipeReference:
    """Return the recipe that the settings mean; asks the engine where programs are to run.

    Raises:
        EngineUnavailableError: No Docker engine answers.
        ImageMissingError: The sandbox image is not there.
    """

    async def describe() -> str:
        sandbox = make_sandbox(settings.sandbox)
        try:
            return await sandbox.check()
        finally:
            await sandbox.close()

    runs = CONFIGURATIONS[settings.annotation.configuration].executor == "box"
    sandbox = asyncio.run(describe()) if runs else ""
    return RecipeReference(
        recipe_id=digest_of(recipe_of(settings, sandbox)),
        model=settings.llm.model,
        demo=settings.llm.is_demo,
        sandbox=sandbox,
    )


def record_recipe(database: Database, recipe: RecipeReference, settings: Settings) -> None:
    """Enter a recipe, which the settings mean, in the store."""
    body = recipe_of(settings, recipe.sandbox)
    annotations.record_recipe(database, recipe.recipe_id, body, demo=recipe.demo)


@task(name="plan-annotation")
def plan_annotation(
    search: SearchReference, recipe: RecipeReference, settings: Settings
) -> AnnotationPlan:
    """Find the pairs of a search that a recipe has not finished, and cut them up."""
    database = open_database(settings.store)
    record_recipe(database, recipe, settings)
    recipe_id = recipe.recipe_id
    limit = settings.annotation.limit
    done = annotations.finished_pairs(database, recipe_id)
    found = candidates.load_candidates(database, search.search_id, search.collection, limit)
    waiting = [pair for item in found if (pair := (item.query_id, item.code_id)) not in done]
    query_of = {
        item.query_id: item for item in corpus.load_queries(database, search.collection, limit)
    }
    code_of = {item.code_id: item for item in corpus.load_codes(database, search.collection)}
    pairs = [Pair(query=query_of[query], code=code_of[code]) for query, code in waiting]
    birds = next_canaries(done, len(pairs), settings)
    annotations.record_pairs(database, [canary.pair for canary in birds])
    get_run_logger().info(
        "%s of %s pairs of %s are left to judge by %s", f"{len(pairs):,}", f"{len(found):,}",
        search.collection, settings.llm.model,
    )  # fmt: skip
    return AnnotationPlan(
        reference=AnnotationReference(
            recipe_id=recipe_id,
            search_id=search.search_id,
            collection=search.collection,
            model=recipe.model,
            demo=recipe.demo,
        ),
        shards=tuple(
            tuple(shard)
            for shard in batched(mixed_in(pairs, birds), settings.annotation.shard_size)
        ),
        canaries=birds,
    )
