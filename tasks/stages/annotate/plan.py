"""A run: its labelling rounds, the pending pairs of each, those it takes, and what it may cost."""

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Self

from agents import recipe_of
from agents.committee.configurations import CONFIGURATIONS
from agents.committee.recipe import changed_parts
from infra.budget import Budget, run_budget
from infra.identity import PairKey, RecipeId, SearchId, mark_of
from infra.journal import Journal
from infra.records import Record
from infra.settings import (
    REASONS,
    CommitteeSettings,
    RaySettings,
    ReannotationSettings,
    Reason,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from infra.store import Database, annotations, candidates, open_database
from infra.store.annotations import RecipeBody
from infra.store.pending import (
    PendingCounts,
    RetryPolicy,
    Selection,
    count_pending,
    keys_folder,
    spending_by_reason,
    write_pending,
)
from infra.summaries import ReasonSpending
from sandbox.backends import make_sandbox
from sandbox.contract.check import require_behaviours
from tasks.reports.plan import ReasonPlan, RunPlan, plan_notes, plan_sentence
from tasks.runtime.caching import stage
from tasks.runtime.progress import get_run_logger, run_logger
from tasks.runtime.references import RecipeReference, SearchReference
from tasks.stages.annotate.cost import expected_of
from tasks.stages.annotate.gold import (
    GoldQuestion,
    held_labels,
    judged_questions,
    known_labels,
    next_questions,
)
from tasks.stages.coverage import labels_by

_LONGEST_DELAY_S = 86_400.0


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


@dataclass(frozen=True)
class PendingRound:
    """A labelling round: which candidates are fresh, and which are pending for what.

    Attributes:
        recipe: Its recipe.
        body: The recipe's body.
        selection: The candidates.
        counts: Their numbers.
    """

    recipe: RecipeReference
    body: RecipeBody
    selection: Selection
    counts: PendingCounts

    @property
    def pending(self) -> Counter[Reason]:
        """Reason → pairs that are due."""
        numbers: Counter[Reason] = Counter()
        for group in self.counts.groups:
            if group.due:
                numbers[group.reason] += group.pairs
        return numbers

    @property
    def not_due(self) -> int:
        """Failed pairs that have to wait."""
        return sum(group.pairs for group in self.counts.groups if not group.due)


class AnnotationPlan(Record):
    """The pairs that a labelling round judges, by reference.

    Attributes:
        collection: The collection of the pairs.
        recipe: The recipe.
        pairs_file: The file with the keys of the pairs, in the order in which they are judged.
        pending: Their number.
        gold: The keys of the gold questions to judge among them.
        budget: The budget of the run, over all its rounds.
    """

    collection: str
    recipe: RecipeReference
    pairs_file: Path
    pending: int = 0
    gold: tuple[PairKey, ...] = ()
    budget: Budget = Budget()

    @property
    def pairs(self) -> int:
        """Number of pairs to judge, with gold questions."""
        return self.pending + len(self.gold)


def current_recipe(chosen: CommitteeSettings, *, require_shown: bool = False) -> RecipeReference:
    """Return the recipe of a committee: everything that could change a label.

    It queries the sandbox's engine for its image if the configuration runs programs; if required
    the engine's boxes must show all behaviours that are promised.
    """
    sandbox = ""
    if CONFIGURATIONS[chosen.annotation.configuration].executor == "box":
        sandbox = asyncio.run(_checked_engine(chosen.sandbox, require_shown=require_shown))
    return RecipeReference(
        recipe_id=RecipeId(mark_of(recipe_of(chosen, sandbox))),
        model=chosen.llm.model,
        sandbox=sandbox,
    )


async def _checked_engine(engine: SandboxSettings, *, require_shown: bool) -> str:
    sandbox = make_sandbox(engine)
    try:
        description = await sandbox.check()
        if require_shown:
            await require_behaviours(sandbox, engine, run_logger(__name__).info)
        return description
    finally:
        await sandbox.close()


@stage("plan-run", "plan what to judge of {run.search.collection} by {run.recipe.model}")
def plan_run(run: AnnotationRun) -> tuple[list[PendingRound], RunPlan]:
    """Return the pending pairs of a run's rounds, which are counted once, and its plan.

    Raises:
        GoldQuestionError: Pairs are pending, and the labels of these recipes are held.
    """
    database = open_database(run.store)
    rounds = pending_rounds(database, run)
    plan = plan_of(database, run, rounds)
    recipe_ids = [each.recipe_id for each in run.rounds]
    limit = run.committee.annotation.gold_limit
    held = held_labels(database, recipe_ids, limit, run.recipe.model)
    if held and plan.taken and not run.accepts_gold:
        raise held
    for line in (plan_sentence(plan), *plan_notes(plan)):
        get_run_logger().info(line)
    return rounds, plan


def pending_rounds(database: Database, run: AnnotationRun) -> list[PendingRound]:
    """Count the pending pairs of a search, and of its collection's pools, in each round.

    Of a pool, its own alone.
    """
    search, collection, policy = run.search, run.search.collection, run.policy
    pools = candidates.pools_of(database, collection)
    own = SearchId("") if search.search_id in pools else search.search_id
    searches = (own, *pools) if own else (own, search.search_id)
    retries = RetryPolicy()
    if not policy.retry_all:
        retries = RetryPolicy(
            after_s=policy.retry_after_s, longest_s=_LONGEST_DELAY_S, max_tries=policy.max_tries
        )
    rounds: list[PendingRound] = []
    for recipe in run.rounds:
        recipe_id = recipe.recipe_id
        body = recipe_of(run.committee, recipe.sandbox, recipe.labelling_round)
        selection = Selection(
            search_id=own,
            recipe_id=recipe_id,
            labels=labels_by(database, collection, searches, [recipe_id], {recipe_id: body}),
            labelling_round=recipe.labelling_round,
            draw=run.committee.annotation.draw,
            retries=retries,
        )
        counts = count_pending(database, selection)
        rounds.append(PendingRound(recipe, body, selection, counts))
    return rounds


def taken_pairs(
    rounds: Sequence[PendingRound], policy: ReannotationSettings
) -> list[dict[Reason, int]]:
    """Return for each round reason → pairs that a run takes, in the order of the reasons.

    A reason's limit and the run's number of pairs hold over all rounds: a round takes what those
    before it have left.
    """
    limits, left = dict(policy.limits), policy.pairs or sys.maxsize
    taken: list[dict[Reason, int]] = []
    for each in rounds:
        numbers: dict[Reason, int] = {}
        for reason in policy.take:
            number = min(each.pending[reason], left, limits.get(reason, left))
            if number:
                numbers[reason] = number
            left -= number
            if reason in limits:
                limits[reason] -= number
        taken.append(numbers)
    return taken


def plan_of(database: Database, run: AnnotationRun, rounds: Sequence[PendingRound]) -> RunPlan:
    """Return the plan of a run; nothing is stored and nothing is run."""
    committee, take = run.committee, run.policy.take
    taken = taken_pairs(rounds, run.policy)
    gold = sum(
        len(_gold_of(database, each, sum(numbers.values()), committee))
        for each, numbers in zip(rounds, taken, strict=True)
    )
    reasons = [
        ReasonPlan(
            reason=reason,
            pending=sum(each.pending[reason] for each in rounds),
            taken=sum(numbers.get(reason, 0) for numbers in taken),
            not_due=sum(each.not_due for each in rounds) if reason == "failed" else 0,
            causes=_causes(database, reason, rounds),
        )
        for reason in (*take, *(reason for reason in REASONS if reason not in take))
    ]
    return RunPlan(
        collection=run.search.collection,
        recipe_id=run.recipe.recipe_id,
        model=committee.llm.model,
        configuration=committee.annotation.configuration,
        rounds=committee.annotation.rounds,
        candidates=sum(each.counts.candidates for each in rounds),
        fresh=sum(each.counts.fresh for each in rounds),
        without_code=rounds[0].counts.without_code,
        gold=gold,
        reasons=tuple(item for item in reasons if item.pending or item.not_due),
        expected=expected_of(gold + sum(item.taken for item in reasons), committee, database),
        budget_usd=run.policy.budget_usd,
    )


def _causes(database: Database, reason: Reason, rounds: Sequence[PendingRound]) -> dict[str, int]:
    """Return the parts of the recipe that have changed for the pairs of a reason."""
    groups = [
        (group, each.body) for each in rounds for group in each.counts.groups
        if group.reason == reason
    ]  # fmt: skip
    if reason not in ("outdated", "disagreement") or not groups:
        return {}
    bodies = annotations.load_recipes(database)
    numbers: Counter[str] = Counter()
    for group, body in groups:
        for part in changed_parts(bodies[group.recipe_id], body, group.roles_asked):
            numbers[part] += group.pairs
    return dict(numbers.most_common())


@stage("choose-pairs", "choose the pairs of {run.search.collection}")
def choose_pairs(run: AnnotationRun, rounds: Sequence[PendingRound]) -> list[AnnotationPlan]:
    """Choose the pairs that each round judges, and its gold questions; record recipes in use.

    Keys are written to files once: what the run stores changes no reason of another pair.
    """
    database, collection = open_database(run.store), run.search.collection
    bodies = {each.recipe.recipe_id: each.body for each in rounds}
    annotations.record_recipes(database, bodies, collection)
    budget = run_budget(run.store, run.committee.llm, run.policy.budget_usd)
    folder = keys_folder(run.store.folder)
    plans: list[AnnotationPlan] = []
    for each, taken in zip(rounds, taken_pairs(rounds, run.policy), strict=True):
        file = folder / f"{each.recipe.recipe_id}.arrow"
        pending = 0
        if taken:
            pending = write_pending(database, each.selection, list(taken.items()), file)
        gold = _gold_of(database, each, pending, run.committee)
        annotations.record_pairs(
            database, [question.pair for question in gold], [question.vote for question in gold]
        )
        plan = AnnotationPlan(
            collection=collection,
            recipe=each.recipe,
            pairs_file=file,
            pending=pending,
            gold=tuple(question.pair.key for question in gold),
            budget=budget,
        )
        plans.append(plan)
    return plans


def spending_of(
    run: AnnotationRun, plans: Sequence[AnnotationPlan], since: datetime
) -> tuple[list[ReasonSpending], float | None]:
    """Return the costs of a run's pairs by round and reason, and all that its model has cost.

    That is None where its price is unknown.
    """
    database, spent = open_database(run.store), []
    for plan in plans:
        if plan.pending:
            recipe_id = plan.recipe.recipe_id
            spent += spending_by_reason(database, plan.pairs_file, recipe_id, since)
    money = Journal(run.store.journal).spent(run.committee.llm.model)
    return spent, None if money.unpriced else plans[0].budget.spent(money)[1]


def _gold_of(
    database: Database, of_round: PendingRound, pairs: int, committee: CommitteeSettings
) -> list[GoldQuestion]:
    if committee.llm.is_recorded:  # they are none of the recorded pairs
        return []
    known = known_labels(database)
    judged = judged_questions(database, of_round.recipe.recipe_id, known)
    done = {item.key for item in judged if item.status != "failed"}
    return next_questions(done, pairs, committee.annotation)
