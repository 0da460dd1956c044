"""The plan of a labelling round: its recipe, the keys of the pairs to judge, and the canaries."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from prefect.logging import get_run_logger

from agents import recipe_of
from agents.committee.configurations import CONFIGURATIONS
from infra.budget import Budget, run_budget
from infra.identity import mark_of
from infra.ids import RecipeId
from infra.records import Record
from infra.settings import CommitteeSettings, SandboxSettings
from infra.store import Database, annotations, open_database, recipes
from infra.store.pending import keys_folder, write_pending
from sandbox.backends import make_sandbox
from sandbox.contract.check import require_behaviours
from tasks.reports.text import words
from tasks.runtime.caching import stage
from tasks.runtime.references import RecipeReference
from tasks.runtime.run_logger import run_logger
from tasks.stages.annotate.canaries import Canary, KnownLabel, load_judged_canaries, next_canaries
from tasks.stages.annotate.pending import CountedRun, RoundPending, Taken
from tasks.stages.annotate.run import AnnotationRun


class AnnotationPlan(Record):
    """The pairs that a labelling round judges, by reference.

    Attributes:
        collection: Whose pairs they are.
        recipe: The recipe.
        pairs_file: The file with the keys of the pairs, in the order in which they are judged.
        pending: Their number.
        canaries: Pairs with known labels to judge among them.
        budget: What the run may cost, over all its rounds.
    """

    collection: str
    recipe: RecipeReference
    pairs_file: Path
    pending: int = 0
    canaries: tuple[KnownLabel, ...] = ()
    budget: Budget = Budget()

    @property
    def pairs(self) -> int:
        """Number of pairs to judge, with canaries."""
        return self.pending + len(self.canaries)


def current_recipe(chosen: CommitteeSettings, *, require_shown: bool = False) -> RecipeReference:
    """Return the recipe of a committee: everything that could change a label.

    It queries the sandbox's engine for its image if the configuration runs programs.

    Args:
        chosen: Who judges.
        require_shown: Make sure, too, that the engine's boxes show all that they must.

    Raises:
        EngineUnavailableError: No Docker engine answers.
        ImageMissingError: The sandbox image is missing.
        SandboxError: The engine's boxes do not show what they must.
    """
    runs = CONFIGURATIONS[chosen.annotation.configuration].executor == "box"
    sandbox = ""
    if runs:
        sandbox = asyncio.run(_engine_asked(chosen.sandbox, require_shown=require_shown))
    return RecipeReference(
        recipe_id=RecipeId(mark_of(recipe_of(chosen, sandbox))),
        model=chosen.llm.model,
        sandbox=sandbox,
    )


async def _engine_asked(settings: SandboxSettings, *, require_shown: bool) -> str:
    sandbox = make_sandbox(settings)
    try:
        description = await sandbox.check()
        if require_shown:
            await require_behaviours(sandbox, settings, run_logger(__name__).info)
        return description
    finally:
        await sandbox.close()


def record_rounds(database: Database, run: AnnotationRun) -> None:
    """Store the recipes of all rounds, and that these are the ones in use on a collection."""
    bodies = {item.recipe.recipe_id: item.body for item in run.rounds}
    recipes.record_recipes(database, bodies, run.search.collection)


@stage("choose-pairs", "choose the pairs of {counted.run.search.collection}")
def choose_pairs(counted: CountedRun) -> list[AnnotationPlan]:
    """Choose the pairs that each labelling round judges, and its canaries; note what is in use.

    Their keys are written to files once: what the run stores changes no reason of another pair.

    Args:
        counted: The run.
    """
    run = counted.run
    database = open_database(run.store)
    record_rounds(database, run)
    budget = run_budget(run.store, run.committee.llm, run.policy.budget_usd)
    folder = keys_folder(run.store.folder)
    plans: list[AnnotationPlan] = []
    for of_round, pending, taken in zip(run.rounds, counted.pending, counted.taken, strict=True):
        _log(pending, taken, of_round)
        keys = folder / f"{of_round.recipe.recipe_id}.arrow"
        to_judge = write_pending(database, pending.selection, taken, keys) if taken else 0
        canaries = canaries_for(database, of_round, to_judge)
        annotations.record_pairs(
            database, [canary.pair for canary in canaries], [canary.vote for canary in canaries]
        )
        plan = AnnotationPlan(
            collection=run.search.collection,
            recipe=of_round.recipe,
            pairs_file=keys,
            pending=to_judge,
            canaries=tuple(canary.known for canary in canaries),
            budget=budget,
        )
        plans.append(plan)
    return plans


def _log(of_round: RoundPending, taken: Sequence[Taken], run: AnnotationRun) -> None:
    """Say how many pairs are pending, for which reasons, and which of them are judged."""
    logger, search = get_run_logger(), run.search
    if not search.queries:
        logger.info("there is nothing to annotate: collection %s has no queries", search.collection)
    pending = sum(of_round.pending.values())
    why = ", ".join(f"{words(reason)} {n:,}" for reason, n in of_round.pending.items())
    logger.info(
        "%s of %s pairs of %s are left to judge by %s%s%s", f"{pending:,}",
        f"{of_round.counts.candidates:,}", search.collection, run.recipe.model,
        run.in_round, f" ({why})" if why else "",
    )  # fmt: skip
    if of_round.counts.without_code:
        logger.warning(
            "%s more pairs are skipped: their code is not in collection %s",
            f"{of_round.counts.without_code:,}", search.collection,
        )  # fmt: skip
    if of_round.not_due:
        logger.info(
            "%s pairs that failed before are not due for another try yet; `cosqa annotate "
            "--reason failed` takes them now", f"{of_round.not_due:,}",
        )  # fmt: skip
    judged = sum(item.pairs for item in taken)
    if judged < pending:
        logger.info("%s of them are judged in this run", f"{judged:,}")


def canaries_for(database: Database, run: AnnotationRun, pairs: int) -> tuple[Canary, ...]:
    """Return the canaries of a round over this number of pairs."""
    if not pairs:
        return ()
    judged, _ = load_judged_canaries(database, run.recipe.recipe_id)
    done = {item.key for item in judged if item.status != "failed"}
    return next_canaries(done, pairs, run.committee.annotation)
