"""Methods side by side on one benchmark, as a flow."""

from collections.abc import Sequence
from pathlib import Path

from prefect import flow

from flows.annotate import annotate_search
from infra.settings import Settings
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.leaderboard import (
    Run,
    WrittenLeaderboard,
    contestants,
    open_contest,
    rank_benchmark,
    write_leaderboard,
)
from tasks.stages.pooling import check_deepening, deepen_pool, gather_judgements
from tasks.stages.preflight import checked_contest


@flow(name="leaderboard", flow_run_name="leaderboard-{benchmark.name}")
def leaderboard(
    benchmark: Path,
    runs: Sequence[Path] = (),
    settings: Settings | None = None,
    *,
    unjudged_to_annotate: int = 0,
) -> WrittenLeaderboard:
    """Rank a benchmark by every method and set their scores side by side.

    Args:
        benchmark: An export's folder, or BEIR's.
        runs: TREC runs that were made elsewhere; a file's stem names the method.
        settings: Which methods and metrics; read from file and environment when not given.
        unjudged_to_annotate: How many results that stand high and were never judged the agents
            judge, the highest ranked first, before all is scored again.
    """
    settings = checked_contest(settings, [benchmark], runs)
    contest = open_contest(benchmark, settings)
    if unjudged_to_annotate:
        check_deepening(contest, settings)
    ranked = [rank_benchmark(contest, method, settings) for method in contestants(settings)]
    ranked += [Run(method=file.stem, file=file) for file in runs]
    written = write_leaderboard(contest, ranked, settings)
    chosen = written.unjudged[:unjudged_to_annotate]
    if not chosen:
        return written
    pool = deepen_pool(contest, chosen, settings)
    reference = annotate_search(pool, current_recipe(settings), settings)
    judged = gather_judgements(contest, reference, settings)
    return write_leaderboard(contest, ranked, settings, judged)
