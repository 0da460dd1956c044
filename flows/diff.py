"""The diff flow: two versions of a benchmark compared."""

from pathlib import Path

from prefect import flow

from flows.runtime.parameters import FlowSettings
from tasks.ranking.methods import chosen_methods
from tasks.stages.diff import WrittenDifference, compare_versions
from tasks.stages.preflight import check_comparison
from tasks.stages.scoring import open_benchmark, score_method


@flow(name="diff", flow_run_name="diff-{before.name}-{after.name}")
def diff(before: Path, after: Path, settings: FlowSettings = None) -> WrittenDifference:
    """Compare two versions of a benchmark: queries, codes, labels, and the methods' scores.

    Args:
        before: The first version's folder.
        after: The second version's folder.
        settings: The settings; None reads them from file and environment.
    """
    ready = check_comparison(settings, [before, after])
    methods = chosen_methods(ready.settings.evaluation, ready.settings.search)
    first, second = (open_benchmark(ready.database, folder) for folder in (before, after))
    old, new = (
        [score_method(ready.database, opened, method, ready.settings) for method in methods]
        for opened in (first, second)
    )
    return compare_versions(first, second, old, new, ready.settings)
