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
from infra.store import annotations, candidates, corpus, open_database
from sandbox.backends import make_sandbox
from tasks.runtime.references import AnnotationReference, SearchReference
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


def recipe_identity(settings: Settings) -> tuple[str, dict[str, object]]:
    """Return the id and the body of the recipe: everything that could change a label.

    A configuration that runs nothing needs no engine.

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
    recipe = recipe_of(settings, asyncio.run(describe()) if runs else "")
    return digest_of(recipe), recipe


@task(name="plan-annotation")
def plan_annotation(search: SearchReference, settings: Settings) -> AnnotationPlan:
    """Find the pairs of a search that the present recipe has not finished, and cut them up."""
    database = open_database(settings.store)
    recipe_id, recipe = recipe_identity(settings)
    annotations.record_recipe(database, recipe_id, recipe, demo=settings.llm.is_demo)
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
            model=settings.llm.model,
            demo=settings.llm.is_demo,
        ),
        shards=tuple(
            tuple(shard)
            for shard in batched(mixed_in(pairs, birds), settings.annotation.shard_size)
        ),
        canaries=birds,
    )
