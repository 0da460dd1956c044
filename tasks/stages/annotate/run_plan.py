"""The plan of a whole annotation run: pairs by reason, and what they are expected to take."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agents.committee.recipe import changed_parts
from infra.ids import RecipeId
from infra.settings import REASONS, Reason, Settings
from infra.store import Database, open_database, recipes, runs
from tasks.reports.plan import Cause, ReasonPlan, RunPlan
from tasks.runtime.caching import stage
from tasks.stages.annotate.effort import NOTHING, at_most, expected_of, history_of
from tasks.stages.annotate.pending import RoundPending, Taken, pending_of, taken_pairs
from tasks.stages.annotate.plan import canaries_for
from tasks.stages.annotate.rounds import AnnotationRun
from tasks.statistics.forecast import ANY_PATH, Expected, History, sum_of


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
        rounds.append(_Round(pending, taken, len(canaries), of_round))
    judged = sum(sum(item.taken.values()) for item in rounds) + _audited(rounds, settings)
    judges = [
        _Judge(
            [item for item in rounds if item.run.settings.llm.model == asked.llm.model],
            history_of(database, asked) if judged else NOTHING,
            asked,
            0 if place else _audited(rounds, settings),
        )
        for place, asked in enumerate(settings.by_judge)
    ]
    take = settings.reannotation.take
    in_order = [*take, *(reason for reason in REASONS if reason not in take)]
    reasons = [_reason(reason, judges) for reason in in_order]
    reasons = [_with_causes(database, item, rounds) for item in reasons]
    return RunPlan(
        collection=run.search.collection,
        recipe_id=run.recipe.recipe_id,
        model=", ".join(judge.settings.llm.model for judge in judges),
        configuration=settings.annotation.configuration,
        rounds=settings.annotation.rounds,
        judges=len(settings.annotation.judges),
        candidates=sum(item.pending.counts.candidates for item in rounds),
        fresh=sum(item.pending.counts.fresh for item in rounds),
        without_code=rounds[0].pending.counts.without_code,
        canaries=sum(item.canaries for item in rounds),
        reasons=tuple(item for item in reasons if item.pending or item.not_due),
        expected=_expected(judges, [_all_paths(judge) for judge in judges]),
        basis=at_most("; ".join(dict.fromkeys(judge.history.basis for judge in judges)), settings),
        budget_usd=settings.reannotation.budget_usd,
    )


def plan_of_size(
    database: Database | None,
    collection: str,
    pairs: int,
    settings: Settings,
    cores: int | None = None,
) -> RunPlan:
    """Return the plan of judging so many pairs, none of which was judged before.

    Args:
        database: The store by whose history it is expected what they take, if there is one.
        collection: Whose pairs they are, in words.
        pairs: Number of candidates of all queries.
        settings: The model and the agents.
        cores: Those of all machines; None is this one.
    """
    each = 1 if settings.annotation.judges else settings.annotation.rounds
    allowed = [settings.reannotation.pairs, pairs * each]
    if "new_queries" not in settings.reannotation.take:
        allowed.append(0)
    taken = min(number for number in allowed if number is not None)
    known = [(history_of(database, asked), asked) for asked in settings.by_judge]
    expected = sum_of([expected_of({ANY_PATH: taken}, *item, cores) for item in known])
    new = ReasonPlan(
        reason="new_queries",
        pending=pairs * settings.annotation.times,
        taken=taken * len(known),
        expected=expected,
    )
    return RunPlan(
        collection=collection,
        recipe_id=RecipeId(""),
        model=", ".join(asked.llm.model for _, asked in known),
        configuration=settings.annotation.configuration,
        rounds=settings.annotation.rounds,
        judges=len(settings.annotation.judges),
        candidates=pairs * settings.annotation.times,
        fresh=0,
        reasons=(new,),
        expected=expected,
        basis=at_most("; ".join(dict.fromkeys(item.basis for item, _ in known)), settings),
        budget_usd=settings.reannotation.budget_usd,
    )


@dataclass(frozen=True)
class _Round:
    """A labelling round: its pending pairs, those taken by reason, its canaries."""

    pending: RoundPending
    taken: Mapping[Reason, int]
    canaries: int
    run: AnnotationRun


class _Judge(NamedTuple):
    """A judge: its labelling rounds, what is known of its effort, and pairs of the run's audit."""

    rounds: list[_Round]
    history: History
    settings: Settings
    audited: int


def _audited(rounds: list[_Round], settings: Settings) -> int:
    """Return how many labelled pairs an audit of the run judges again."""
    policy = settings.reannotation
    judged = sum(sum(item.taken.values()) for item in rounds)
    fresh = rounds[0].pending.counts.fresh
    return policy.audited(fresh, judged) if "audit" in policy.take else 0


def _reason(reason: Reason, judges: list[_Judge]) -> ReasonPlan:
    rounds = [item for judge in judges for item in judge.rounds]
    paths: list[Mapping[str, float]]
    by_round: tuple[int, ...] = ()
    if reason == "audit":
        paths = [{ANY_PATH: judge.audited} for judge in judges]
        pending = taken = sum(judge.audited for judge in judges)
    else:
        paths = [_paths(reason, judge.rounds) for judge in judges]
        pending = sum(item.pending.pending.get(reason, 0) for item in rounds)
        by_round = tuple(item.taken.get(reason, 0) for item in rounds)
        taken = sum(by_round)
    return ReasonPlan(
        reason=reason,
        pending=pending,
        taken=taken,
        by_round=by_round,
        not_due=sum(item.pending.not_due for item in rounds) if reason == "failed" else 0,
        expected=_expected(judges, paths) if taken else None,
    )


def _expected(judges: list[_Judge], paths: Sequence[Mapping[str, float]]) -> Expected:
    """Return what so many pairs of each path take that each judge judges."""
    parts = [
        expected_of(of_judge, judge.history, judge.settings)
        for judge, of_judge in zip(judges, paths, strict=True)
        if any(of_judge.values()) or judge is judges[0]
    ]
    return sum_of(parts) if len(parts) > 1 else parts[0]


def _all_paths(judge: _Judge) -> dict[str, float]:
    """Return path → pairs that a judge judges for all reasons, with its canaries."""
    numbers: defaultdict[str, float] = defaultdict(float)
    for reason in REASONS:
        for met, number in _paths(reason, judge.rounds).items():
            numbers[met] += number
    numbers[ANY_PATH] += sum(item.canaries for item in judge.rounds) + judge.audited
    return numbers


def _paths(reason: Reason, rounds: list[_Round]) -> dict[str, float]:
    """Return path → pairs taken for a reason: of each path the share that is taken of all."""
    numbers: defaultdict[str, float] = defaultdict(float)
    for item in rounds:
        pending, taken = item.pending.pending.get(reason, 0), item.taken.get(reason, 0)
        for met, number in item.pending.paths(reason).items():
            numbers[met] += number * taken / pending
    return numbers


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
