"""The flows in which agents judge, on Ray's workers: candidates, a benchmark's labels, answers.

`annotate` judges the candidates of a collection, `repair` a benchmark's doubtful and missing
labels, of which it writes the next version; `generate` lets a model write answers to queries
without a match, for people to confirm.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from prefect import State, flow
from prefect.artifacts import create_markdown_artifact
from prefect.logging import get_run_logger
from prefect.settings import PREFECT_API_URL
from prefect.states import Completed

from flows.evaluate import score_methods
from flows.runtime.approval import approved
from flows.runtime.runs import (
    SIDE_BY_SIDE,
    FlowSettings,
    Steps,
    ends_by_budget,
    results_of,
    run_name,
    writing,
)
from infra.budget import run_budget
from infra.errors import CosqaError, SettingsError
from infra.journal import Journal
from infra.ray import check_reach, start_workers
from infra.store.pending import own_keys
from tasks.reports.document import Document
from tasks.reports.leaderboard import POOL_DEPTH
from tasks.reports.plan import RunPlan, plan_document, spending_document
from tasks.reports.render import markdown_page
from tasks.reports.text import counted
from tasks.runtime.input_checks import ValidatedInputs, check_comparison, check_judging
from tasks.runtime.progress import artifact_key
from tasks.runtime.references import JudgedPairs, RecipeReference
from tasks.sources import open_source
from tasks.stages.annotate.plan import (
    AnnotationPlan,
    AnnotationRun,
    choose_pairs,
    plan_run,
    spending_of,
)
from tasks.stages.annotate.shard import make_ready, shards_for
from tasks.stages.candidates import find_candidates
from tasks.stages.collect import collect_source
from tasks.stages.generate.confirm import write_waiting
from tasks.stages.generate.write import Generated, generate_codes, verifying_committee
from tasks.stages.preflight import check_agents, check_answer, check_inputs, collected_source
from tasks.stages.repair import (
    WrittenRepair,
    pool_to_repair,
    require_repairable,
    source_to_repair,
    write_repair,
)
from tasks.stages.scoring import open_benchmark
from tasks.stages.standing import (
    OpenRuns,
    Standing,
    count_left,
    query_counts,
    rank_methods,
    rest_sentence,
    standing_of,
)

_PATIENCE_S = 600.0  # longer than `cosqa publish` holds the store of the largest benchmark


@flow(name="annotate", flow_run_name=run_name)
def annotate(settings: FlowSettings = None) -> State[RecipeReference]:
    """Judge the candidates without an up-to-date label, for the reasons that the settings take."""
    ready = check_inputs(settings, check_judging)
    recipe = check_agents(ready)
    source = collected_source(ready)
    with writing(ready.settings.store):
        found = find_candidates(
            ready.database, source.main, source.search, ready.settings.search, return_state=True
        )
        found.result()
    run = AnnotationRun.of(source.search, recipe, ready.settings)
    judged, _ = judge_as_far_as_asked(ready, run, [found])
    return Completed(data=recipe, message=f"{ready.settings.source.title}: {judged}")


def judge_as_far_as_asked(
    ready: ValidatedInputs, run: AnnotationRun, after: Steps = ()
) -> tuple[JudgedPairs, Steps]:
    """Judge all pending candidates, or those of more and more queries until methods are ranked.

    Args:
        ready: The checked inputs.
        run: The run over all candidates.
        after: The steps before it.

    Returns:
        What became of the pairs, and the last step.
    """
    if run.policy.until_ranked is None:
        return judge_candidates(run, after)
    if not run.is_approved:
        raise SettingsError(
            "a run until methods are ranked has no plan that a person could approve: give a budget "
            "(--budget-usd) and COSQA_OPERATION__APPROVE=false"
        )
    database, standing = ready.database, Standing()
    runs = OpenRuns(rank_methods(database, run.search, ready.settings.scoring, wait_for=after))
    numbers = [*query_counts(run.committee.annotation.limit or run.search.queries)]
    told = ", ".join(map(str, numbers))
    get_run_logger().info("queries are judged by handfuls; methods are compared after %s", told)
    looks = [run.of_queries(number) for number in numbers]
    for look, done in zip(looks, judge_in_turn(run, looks, after), strict=False):
        # Of queries that are judged in part those with a label are not drawn at random.
        if not done.end or not count_left(database, look):
            standing = standing_of(
                database, look, runs, ready.settings.evaluation, wait_for=done.steps
            )
        if standing.is_settled:
            break
    ending = "ranked" if standing.is_settled else ", ".join(filter(None, ("not ranked", done.end)))
    told = f"{ending} {standing}; {rest_sentence(database, run)}"
    return done.pairs.model_copy(update={"standing": told}), done.steps


class JudgedPart(NamedTuple):
    """Result of a part of a run: all pairs so far, the last step, the reason of an early end."""

    pairs: JudgedPairs
    steps: Steps
    end: str


def judge_in_turn(
    run: AnnotationRun, parts: Iterable[AnnotationRun], after: Steps = ()
) -> Iterator[JudgedPart]:
    """Judge parts of a run one after the other, as far as its budget and its pairs go."""
    policy, judged = run.policy, JudgedPairs()
    budget = run_budget(run.store, run.committee.llm, policy.budget_usd)
    usd, pairs = policy.budget_usd, policy.pairs
    for part in parts:
        bounds = policy.model_copy(update={"budget_usd": usd, "pairs": pairs})
        more, after, error = _judge(replace(part, policy=bounds), after)
        judged += more
        if error and not ends_by_budget(error, judged.pairs):
            raise error
        if budget.limit_usd is not None:
            usd = budget.left(Journal(run.store.journal).spent(run.committee.llm.model))[1]
        pairs = policy.pairs and max(0, policy.pairs - judged.pairs)
        end = f"{counted(judged.pairs, 'pairs')} were asked for" * (pairs == 0)
        if error or (usd is not None and usd <= 0):
            end = "the budget is spent"
        yield JudgedPart(judged, after, end)
        if end:
            break


def judge_candidates(run: AnnotationRun, after: Steps = ()) -> tuple[JudgedPairs, Steps]:
    """Judge the pending candidates of a search for the settings' reasons.

    Where the settings ask for it, a person agrees to the plan first; what is approved bounds it.
    Labelling rounds follow one another, each over all candidates.

    Args:
        run: The candidates, the recipe of the first round, and the checked settings.
        after: The steps before it.

    Returns:
        What became of the pairs, and the last step.
    """
    judged, after, error = _judge(run, after)
    if error:
        raise error
    return judged, after


def _judge(run: AnnotationRun, after: Steps) -> tuple[JudgedPairs, Steps, CosqaError | None]:
    """Judge as `judge_candidates` does; return also the error that ended it, once all is told."""
    with writing(run.store), own_keys(run.store.folder):
        planned = plan_run(run, wait_for=after, return_state=True)
        rounds, plan = planned.result()
        show_plan(plan)
        if not run.is_approved:
            run = replace(run, policy=approved(plan, run.policy))
        if plan.taken:
            check_answer(run.committee.llm, run.store)
        with ThreadPoolExecutor(1) as meanwhile:
            workers = shards_for(plan.taken, run.committee.annotation.in_flight)
            started = meanwhile.submit(start_workers, run.ray, workers, make_ready)
            step: State[Any] = choose_pairs(run, rounds, wait_for=[planned], return_state=True)
        started.result()
        judged, begun, plans = JudgedPairs(), datetime.now(UTC), step.result()
        ended: CosqaError | None = None
        try:
            for of_round in plans:
                if of_round.pairs:
                    step = _judge_round(of_round, run, step)
                    judged += step.result()
        except CosqaError as error:
            ended = error
        if plan.taken:
            spent, usd = spending_of(run, plans, begun)
            show(spending_document(plan, spent, usd, ended), "spending", plan.collection)
            if ended:  # the round that it ended has told no number
                judged = judged.model_copy(update={"pairs": sum(each.judged for each in spent)})
    return judged, [step], ended


def show_plan(plan: RunPlan) -> None:
    """Show a plan as an artifact."""
    show(plan_document(plan), "plan", plan.collection)


def show(document: Document, kind: str, collection: str) -> None:
    """Show a document as an artifact."""
    key = artifact_key(kind, collection)
    create_markdown_artifact(markdown_page(document), key=key, description=document.title)


def _judge_round(plan: AnnotationPlan, run: AnnotationRun, after: State[Any]) -> State[JudgedPairs]:
    """Judge a round; a store that another command holds for a while ends no run of hours."""
    check_reach(PREFECT_API_URL.value())
    from tasks.stages.annotate.shards import judge_round  # noqa: PLC0415 - imports Ray

    patience_s = max(_PATIENCE_S, run.store.lock_timeout_s)
    store = run.store.model_copy(update={"lock_timeout_s": patience_s})
    return judge_round(plan, replace(run, store=store), after)


@flow(name="repair", flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
def repair(
    benchmark: Path, settings: FlowSettings = None, *, pool: int = POOL_DEPTH, plan: bool = False
) -> WrittenRepair | RunPlan:
    """Judge a benchmark's positives and what methods find beside them; write the next version.

    Args:
        benchmark: Its folder, which stays as it is.
        settings: The settings; None reads them from file and environment.
        pool: How many first results of each method are judged where they have no grade.
        plan: Return the plan of what would be judged, and ask no model.
    """
    ready = check_inputs(settings, partial(check_comparison, benchmarks=[benchmark]))
    chosen, database = ready.settings, ready.database
    opened = open_benchmark(database, benchmark)
    require_repairable(opened, chosen.publish)
    recipe = check_agents(ready, to_run=not plan)
    source = source_to_repair(benchmark)
    with writing(chosen.store):
        fingerprint = open_source(source).fingerprint()
        read = collect_source(database, source, fingerprint, return_state=True)
        collection, *_ = read.result()
    scored = score_methods(database, opened, chosen.scoring, [read])
    ranked = results_of(scored)
    pooled = pool_to_repair(
        database, opened, ranked, collection.name, pool, wait_for=scored, return_state=True
    )
    pools = pooled.result()
    run = AnnotationRun.of(pools[-1], recipe, chosen).of_all()
    planned = plan_run(run, wait_for=[pooled], return_state=True)
    _, expected = planned.result()
    show_plan(expected)
    if plan:
        return expected
    if not run.is_approved:
        run = replace(run, policy=approved(expected, run.policy), is_approved=True)
    parts = [replace(run, search=pool) for pool in pools]
    *_, last = judge_in_turn(run, parts, [planned])
    if last.end:
        get_run_logger().warning("%s: what is not judged keeps its grades", last.end)
    return write_repair(database, opened, ranked, run, chosen.scoring, pool, wait_for=last.steps)


@flow(name="generate", flow_run_name=run_name)
def generate(settings: FlowSettings = None) -> Generated:
    """Let a model write answers to the queries without a candidate that the agents label 1."""
    ready = check_inputs(settings)
    generation = ready.settings.generation
    committee = verifying_committee(ready.settings.committee, generation.configuration)
    check_agents(ready, committee, to_ask=True)
    source = collected_source(ready)
    with writing(ready.settings.store):
        found = generate_codes(ready.database, source, committee, generation)
        sheet = write_waiting(ready.database, source.main.name, ready.settings.publish.folder)
    return found.model_copy(update={"sheet": sheet})
