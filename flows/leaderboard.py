"""The leaderboard flow: retrieval methods compared on one benchmark."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from prefect import flow

from flows.annotate import judge_candidates
from flows.runtime.parameters import FlowSettings
from flows.runtime.writing import writing
from infra.settings import ReannotationSettings
from tasks.ranking.methods import chosen_methods
from tasks.runtime.references import RecipeReference
from tasks.stages.leaderboard import WrittenLeaderboard, write_leaderboard
from tasks.stages.pooling import add_to_pool, check_pooling, log_next_version
from tasks.stages.preflight import Ready, check_agents, check_comparison
from tasks.stages.scoring import OpenBenchmark, Run, open_benchmark, score_method


@flow(name="leaderboard", flow_run_name="leaderboard-{benchmark.name}")
def leaderboard(
    benchmark: Path,
    runs: Sequence[Path] = (),
    settings: FlowSettings = None,
    *,
    unjudged_to_annotate: int = 0,
) -> WrittenLeaderboard:
    """Rank a benchmark's codes by every method and compare their scores.

    Args:
        benchmark: Folder of an export, or a BEIR folder.
        runs: TREC runs of other methods; a file's stem names the method.
        settings: The settings; None reads them from file and environment.
        unjudged_to_annotate: Number of unjudged results that the agents annotate, best-ranked
            first, before all methods are scored again.
    """
    ready = check_comparison(settings, [benchmark], runs)
    opened = open_benchmark(ready.database, benchmark)
    recipe = None
    if unjudged_to_annotate:
        with writing(ready.settings.store):  # else it would be refused when all is ranked
            check_pooling(ready.database, opened)
        recipe = check_agents(ready.settings)
    ranked = [
        score_method(ready.database, opened, method, ready.settings)
        for method in chosen_methods(ready.settings.evaluation, ready.settings.search)
    ]
    ranked += [Run(method=file.stem, file=file) for file in runs]
    written = write_leaderboard(ready.database, opened, ranked, ready.settings)
    if recipe is None or not written.unjudged:
        return written
    return _annotate_and_rescore(ready, opened, ranked, recipe, unjudged_to_annotate)


def _annotate_and_rescore(
    ready: Ready,
    benchmark: OpenBenchmark,
    ranked: Sequence[Run],
    recipe: RecipeReference,
    limit: int,
) -> WrittenLeaderboard:
    """Annotate unjudged results, and score all runs again."""
    search = add_to_pool(ready.database, benchmark, limit, ready.settings.publish)
    # Who names a number of results wants them judged, whatever the reasons of other runs are.
    policy = ReannotationSettings(retry_all=True, budget_usd=ready.settings.reannotation.budget_usd)
    asked = replace(ready, settings=ready.settings.model_copy(update={"reannotation": policy}))
    judged = judge_candidates(asked, search, recipe)
    log_next_version(ready.database, benchmark, judged)
    return write_leaderboard(ready.database, benchmark, ranked, ready.settings, judged)
