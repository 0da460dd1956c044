"""The plan of a whole annotation run: pairs by reason, and what they are expected to take."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from agents.committee.recipe import changed_parts
from infra.ids import RecipeId
from infra.settings import REASONS, Reason, Settings
from infra.store import Database, open_database, recipes, runs
from tasks.reports.plan import Cause, Expected, ReasonPlan, RunPlan
from tasks.runtime.caching import stage
from tasks.stages.annotate.cost import PairCost, cost_of_pair, expected_of
from tasks.stages.annotate.pending import RoundPending, Taken, pending_of, taken_pairs
from tasks.stages.annotate.plan import canaries_for
from tasks.stages.annotate.rounds import AnnotationRun


@stage("plan-run", "plan what to judge of {run.search.collection} by {run.recipe.model}")
def plan_run(run: AnnotationRun) -> RunPlan:
    """Return the plan of a run over a search's candidates; one with pairs to judge is stored."""
    database = open_database(run.settings.store)
    plan = planned_run(database, run)
    if not plan.taken:
        return plan
    body = plan.model_dump(mode="json")
    plan_id = runs.record_plan(database, plan.collection, plan.recipe_id, body)
    return plan.model_copy(update={"plan_id": plan_id})


def planned_run(database: Database, run: AnnotationRun) -> RunPlan:
    """Return the plan of a run; nothing is stored and nothing is run."""
    settings, rounds = run.settings, list[_Round]()
    before: list[Taken] = []
    for of_round in run.rounds:
        pending = pending_of(database, of_round, ahead=True)
        found = taken_pairs(database, pending, of_round, before)
        before += found
        taken = {item.reason: item.pairs for item in found}
        canaries = canaries_for(database, of_round, sum(taken.values()))
        cost = cost_of_pair(database, of_round.settings)
        rounds.append(_Round(pending, taken, len(canaries), of_round, cost))
    take = settings.reannotation.take
    in_order = [*take, *(reason for reason in REASONS if reason not in take)]
    reasons = [_reason(reason, rounds) for reason in in_order]
    reasons = [_with_causes(database, item, rounds) for item in reasons]
    judged = [sum(item.taken.values()) + item.canaries for item in rounds]
    return RunPlan(
        collection=run.search.collection,
        recipe_id=run.recipe.recipe_id,
        model=", ".join(dict.fromkeys(item.run.settings.llm.model for item in rounds)),
        configuration=settings.annotation.configuration,
        rounds=settings.annotation.rounds,
        judges=len(settings.annotation.judges),
        candidates=sum(item.pending.counts.candidates for item in rounds),
        fresh=sum(item.pending.counts.fresh for item in rounds),
        without_code=rounds[0].pending.counts.without_code,
        canaries=sum(item.canaries for item in rounds),
        reasons=tuple(item for item in reasons if item.pending or item.not_due),
        expected=_expected(rounds, judged),
        basis=_basis([item.cost for item in rounds]),
        budget_usd=settings.reannotation.budget_usd,
    )


def plan_of_size(
    database: Database | None, collection: str, pairs: int, settings: Settings
) -> RunPlan:
    """Return the plan of judging so many pairs, none of which was judged before.

    Args:
        database: The store by which it is expected what they take, if there is one.
        collection: Whose pairs they are.
        pairs: Number of candidates of all queries.
        settings: The model and the agents.
    """
    each = 1 if settings.annotation.judges else settings.annotation.rounds
    allowed = [settings.reannotation.pairs, pairs * each]
    if "new_queries" not in settings.reannotation.take:
        allowed.append(0)
    taken = min(number for number in allowed if number is not None)
    costs = [cost_of_pair(database, asked) for asked in settings.by_judge]
    expected = reduce(add, [expected_of(taken, cost, settings) for cost in costs])
    new = ReasonPlan(
        reason="new_queries",
        pending=pairs * settings.annotation.times,
        taken=taken * len(costs),
        expected=expected,
    )
    return RunPlan(
        collection=collection,
        recipe_id=RecipeId(""),
        model=", ".join(asked.llm.model for asked in settings.by_judge),
        configuration=settings.annotation.configuration,
        rounds=settings.annotation.rounds,
        judges=len(settings.annotation.judges),
        candidates=pairs * settings.annotation.times,
        fresh=0,
        reasons=(new,),
        expected=expected,
        basis=_basis(costs),
        budget_usd=settings.reannotation.budget_usd,
    )


@dataclass(frozen=True)
class _Round:
    """A labelling round: its pending pairs, those taken by reason, its canaries, a pair's cost."""

    pending: RoundPending
    taken: Mapping[Reason, int]
    canaries: int
    run: AnnotationRun
    cost: PairCost


def _reason(reason: Reason, rounds: list[_Round]) -> ReasonPlan:
    by_round = tuple(item.taken.get(reason, 0) for item in rounds)
    pending = sum(item.pending.pending.get(reason, 0) for item in rounds)
    taken = sum(by_round)
    return ReasonPlan(
        reason=reason,
        pending=pending,
        taken=taken,
        not_due=sum(item.pending.not_due for item in rounds) if reason == "failed" else 0,
        expected=_expected(rounds, by_round) if taken else None,
    )


def _expected(rounds: list[_Round], pairs: Sequence[int]) -> Expected:
    """Return what so many pairs of each round take; rounds follow one another."""
    parts = zip(rounds, pairs, strict=True)
    return reduce(
        add, [expected_of(number, item.cost, item.run.settings) for item, number in parts]
    )


def _basis(costs: Sequence[PairCost]) -> str:
    return "; ".join(dict.fromkeys(cost.basis for cost in costs))


def _with_causes(database: Database, item: ReasonPlan, rounds: list[_Round]) -> ReasonPlan:
    """Return the plan of a reason with the parts of the recipe that have changed for its pairs."""
    if item.reason not in ("stale", "disagreement") or not item.pending:
        return item
    bodies = recipes.load_bodies(database)
    numbers: Counter[str] = Counter()
    for of_round in rounds:
        current = of_round.run.body
        for group in of_round.pending.counts.groups:
            if group.reason == item.reason:
                for part in changed_parts(bodies[group.recipe_id], current, group.met):
                    numbers[part] += group.pairs
    causes = tuple(Cause(part=part, pairs=number) for part, number in numbers.most_common())
    return item.model_copy(update={"causes": causes})
