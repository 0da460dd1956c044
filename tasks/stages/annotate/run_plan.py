"""The plan of a whole annotation run: pairs by reason, and what they are expected to take."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from agents.committee.recipe import changed_parts
from infra.ids import RecipeId
from infra.settings import REASONS, CommitteeSettings, ReannotationSettings, Reason
from infra.store import Database, open_database, recipes
from infra.store.recipes import Body
from tasks.reports.plan import Cause, ReasonPlan, RunPlan
from tasks.runtime.caching import stage
from tasks.stages.annotate.cost import cost_of_pair, expected_of
from tasks.stages.annotate.pending import CountedRun, RoundPending, counted
from tasks.stages.annotate.plan import canaries_for
from tasks.stages.annotate.run import AnnotationRun


@stage("plan-run", "plan what to judge of {run.search.collection} by {run.recipe.model}")
def plan_run(run: AnnotationRun) -> tuple[CountedRun, RunPlan]:
    """Return a run with its pending pairs, and its plan."""
    database = open_database(run.store)
    found = counted(database, run)
    return found, plan_of(database, found)


def plan_of(database: Database, counted: CountedRun) -> RunPlan:
    """Return the plan of a run; nothing is stored and nothing is run."""
    run, committee, rounds = counted.run, counted.run.committee, list[_Round]()
    cost = cost_of_pair(database, committee)
    for of_round, pending, found in zip(run.rounds, counted.pending, counted.taken, strict=True):
        taken = {item.reason: item.pairs for item in found}
        canaries = canaries_for(database, of_round, sum(taken.values()))
        rounds.append(_Round(pending, taken, len(canaries), of_round.body))
    take = run.policy.take
    in_order = [*take, *(reason for reason in REASONS if reason not in take)]
    reasons = [_reason(reason, rounds) for reason in in_order]
    reasons = [_with_causes(database, item, rounds) for item in reasons]
    judged = sum(sum(item.taken.values()) + item.canaries for item in rounds)
    return RunPlan(
        collection=run.search.collection,
        recipe_id=run.recipe.recipe_id,
        model=committee.llm.model,
        configuration=committee.annotation.configuration,
        rounds=committee.annotation.rounds,
        candidates=sum(item.pending.counts.candidates for item in rounds),
        fresh=sum(item.pending.counts.fresh for item in rounds),
        without_code=rounds[0].pending.counts.without_code,
        canaries=sum(item.canaries for item in rounds),
        reasons=tuple(item for item in reasons if item.pending or item.not_due),
        expected=expected_of(judged, cost, committee),
        basis=cost.basis,
        budget_usd=run.policy.budget_usd,
    )


def plan_of_size(
    database: Database | None,
    collection: str,
    pairs: int,
    committee: CommitteeSettings,
    policy: ReannotationSettings,
) -> RunPlan:
    """Return the plan of judging so many pairs, none of which was judged before.

    Args:
        database: The store by which it is expected what they take, if there is one.
        collection: Whose pairs they are.
        pairs: Number of candidates of all queries.
        committee: The model and the agents.
        policy: How many of them are judged.
    """
    candidates = pairs * committee.annotation.rounds
    allowed = [policy.pairs, candidates]
    if "new_queries" not in policy.take:
        allowed.append(0)
    taken = min(number for number in allowed if number is not None)
    cost = cost_of_pair(database, committee)
    new = ReasonPlan(reason="new_queries", pending=candidates, taken=taken)
    return RunPlan(
        collection=collection,
        recipe_id=RecipeId(""),
        model=committee.llm.model,
        configuration=committee.annotation.configuration,
        rounds=committee.annotation.rounds,
        candidates=candidates,
        fresh=0,
        reasons=(new,),
        expected=expected_of(taken, cost, committee),
        basis=cost.basis,
        budget_usd=policy.budget_usd,
    )


@dataclass(frozen=True)
class _Round:
    """A labelling round: its pending pairs, those taken by reason, its canaries, its recipe."""

    pending: RoundPending
    taken: Mapping[Reason, int]
    canaries: int
    body: Body


def _reason(reason: Reason, rounds: list[_Round]) -> ReasonPlan:
    return ReasonPlan(
        reason=reason,
        pending=sum(item.pending.pending.get(reason, 0) for item in rounds),
        taken=sum(item.taken.get(reason, 0) for item in rounds),
        not_due=sum(item.pending.not_due for item in rounds) if reason == "failed" else 0,
    )


def _with_causes(database: Database, item: ReasonPlan, rounds: list[_Round]) -> ReasonPlan:
    """Return the plan of a reason with the parts of the recipe that have changed for its pairs."""
    if item.reason not in ("stale", "disagreement") or not item.pending:
        return item
    bodies = recipes.load_bodies(database)
    numbers: Counter[str] = Counter()
    for of_round in rounds:
        for group in of_round.pending.counts.groups:
            if group.reason == item.reason:
                for part in changed_parts(bodies[group.recipe_id], of_round.body, group.met):
                    numbers[part] += group.pairs
    causes = tuple(Cause(part=part, pairs=number) for part, number in numbers.most_common())
    return item.model_copy(update={"causes": causes})
