"""Two versions of a benchmark side by side, as a flow."""

from pathlib import Path

from prefect import flow

from infra.settings import Settings
from tasks.stages.diff import Standings, WrittenDifference, compare_versions
from tasks.stages.leaderboard import (
    Contest,
    contestants,
    open_contest,
    rank_benchmark,
    stand_methods,
)
from tasks.stages.preflight import checked_contest


@flow(name="difference", flow_run_name="difference-{before.name}-{after.name}")
def difference(before: Path, after: Path, settings: Settings | None = None) -> WrittenDifference:
    """Say what changed between two exports, and what it does to the methods on them.

    Args:
        before: The first version's folder.
        after: The second version's folder.
        settings: Which methods and metrics; read from file and environment when not given.
    """
    settings = checked_contest(settings, [before, after])
    first, second = open_contest(before, settings), open_contest(after, settings)
    return compare_versions(first, second, _stand(first, settings), _stand(second, settings))


def _stand(contest: Contest, settings: Settings) -> Standings:
    runs = [rank_benchmark(contest, method, settings) for method in contestants(settings)]
    return stand_methods(contest, runs, settings)
