"""The flows that compare: retrieval methods on a benchmark, and two versions of a benchmark."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from prefect import flow

from flows.annotate import judge_candidates
from flows.evaluate import score_methods
from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, results_of, run_name, writing
from infra.store.benchmarks import only_benchmark
from tasks.ranking.methods import chosen_methods
from tasks.runtime.input_checks import check_comparison
from tasks.stages.annotate.plan import AnnotationRun
from tasks.stages.diff import WrittenDifference, compare_versions
from tasks.stages.leaderboard import WrittenLeaderboard, read_rankings, write_leaderboard
from tasks.stages.pooling import add_to_pool, check_pooling
from tasks.stages.preflight import check_agents, check_inputs
from tasks.stages.scoring import Run, open_benchmark, require_labels


@flow(name="leaderboard", flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
def leaderboard(
    benchmark: Path | None = None,
    runs: Sequence[Path] = (),
    settings: FlowSettings = None,
    *,
    annotate_unjudged: bool = False,
) -> WrittenLeaderboard:
    """Rank a benchmark's codes by every method and compare their scores.

    Args:
        benchmark: Folder of an export, or a BEIR folder; None takes the store's only export.
        runs: TREC runs of other methods; a file's stem names the method.
        settings: The settings; None reads them from file and environment.
        annotate_unjudged: Let the agents annotate unjudged results among the first of each method,
            and score all methods again.
    """
    folders = [benchmark] if benchmark else []
    ready = check_inputs(settings, partial(check_comparison, benchmarks=folders, runs=runs))
    chosen = ready.settings
    folder = benchmark or only_benchmark(chosen.store)
    opened = open_benchmark(ready.database, folder, chosen.evaluation.answers)
    theirs = [Run(method=file.stem, file=file) for file in runs]
    if runs or annotate_unjudged:  # sealed, it is ranked at most: its keeper scores the rankings
        require_labels(opened)
    if theirs:  # else a wrong one would be refused when all is ranked
        read_rankings(opened, theirs, warns=False)
    recipe = None
    if annotate_unjudged:
        with writing(chosen.store):  # else it would be refused when all is ranked
            check_pooling(ready.database, opened)
        recipe = check_agents(ready)
    is_ranking = chosen_methods(chosen.scoring, runs)
    scored = score_methods(ready.database, opened, chosen.scoring) if is_ranking else []
    ranked = [*results_of(scored), *theirs]
    compared = write_leaderboard(
        ready.database, opened, ranked, chosen.scoring,
        wait_for=scored, return_state=True,
    )  # fmt: skip
    written = compared.result()
    if recipe is None or not written.unjudged:
        return written
    # Annotate unjudged results, and compare all runs again.
    pooled = add_to_pool(
        ready.database, opened, chosen.publish,
        wait_for=[compared], return_state=True,
    )  # fmt: skip
    run = AnnotationRun.of(pooled.result(), recipe, chosen).of_all()
    _, steps = judge_candidates(run, [pooled])
    return write_leaderboard(ready.database, opened, ranked, chosen.scoring, run, wait_for=steps)


@flow(name="diff", flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
def diff(before: Path, after: Path, settings: FlowSettings = None) -> WrittenDifference:
    """Compare two versions of a benchmark: queries, codes, labels, and scores of named methods.

    Args:
        before: The first version's folder.
        after: The second version's folder.
        settings: The settings; None reads them from file and environment.
    """
    needs = partial(check_comparison, benchmarks=[before, after])
    ready = check_inputs(settings, needs, opens_store=False)
    scoring = ready.settings.scoring
    database = ready.database if scoring.evaluation.methods else None  # scores alone are stored
    first, second = (open_benchmark(database, folder) for folder in (before, after))
    old = score_methods(database, first, scoring) if database else []
    new = score_methods(database, second, scoring) if database else []
    return compare_versions(
        first, second, results_of(old), results_of(new), scoring.evaluation, scoring.publish,
        wait_for=[*old, *new],
    )  # fmt: skip
