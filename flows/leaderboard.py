"""Methods compared on one benchmark, as a flow."""

from collections.abc import Sequence
from pathlib import Path

from prefect import flow

from flows.annotate import judge_candidates
from flows.runtime.parameters import FlowSettings
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
    """Rank a benchmark by every method and compare their scores.

    Args:
        benchmark: An export's folder, or BEIR's.
        runs: TREC runs that were made elsewhere; a file's stem names the method.
        settings: Which methods and metrics; read from file and environment when not given.
        unjudged_to_annotate: How many results that rank high and were never judged the agents
            judge, the highest ranked first, before all is scored again.
    """
    ready = check_comparison(settings, [benchmark], runs)
    opened = open_benchmark(ready.database, benchmark)
    recipe = None
    if unjudged_to_annotate:
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
    return _with_pool_judged(ready, opened, ranked, recipe, unjudged_to_annotate)


def _with_pool_judged(
    ready: Ready,
    benchmark: OpenBenchmark,
    ranked: Sequence[Run],
    recipe: RecipeReference,
    at_most: int,
) -> WrittenLeaderboard:
    """Let the agents judge unjudged results, and score all runs again."""
    search = add_to_pool(ready.database, benchmark, at_most, ready.settings.publish)
    judged = judge_candidates(ready, search, recipe)
    log_next_version(benchmark, judged)
    return write_leaderboard(ready.database, benchmark, ranked, ready.settings, judged)
