"""The repair flow: a benchmark's doubtful and missing labels judged, its next version written."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from prefect import flow
from prefect.logging import get_run_logger

from flows.annotate import judge_in_turn, show_plan
from flows.evaluate import score_methods
from flows.runtime.approval import approved
from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, results_of, run_name, writing
from tasks.reports.leaderboard import POOL_DEPTH
from tasks.reports.plan import RunPlan
from tasks.runtime.input_checks import check_comparison
from tasks.sources import open_source
from tasks.stages.annotate.plan import plan_run
from tasks.stages.annotate.run import AnnotationRun
from tasks.stages.collect import collect_source
from tasks.stages.preflight import check_agents, check_inputs
from tasks.stages.repair import (
    WrittenRepair,
    pool_to_repair,
    require_repairable,
    source_to_repair,
    write_repair,
)
from tasks.stages.scoring import open_benchmark


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
