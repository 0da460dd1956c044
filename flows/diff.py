"""The diff flow: two versions of a benchmark compared."""

from functools import partial
from pathlib import Path

from prefect import flow

from flows.evaluate import score_methods
from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, results_of, run_name
from tasks.runtime.input_checks import check_comparison
from tasks.stages.diff import WrittenDifference, compare_versions
from tasks.stages.preflight import check_inputs
from tasks.stages.scoring import open_benchmark


@flow(name="diff", flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
def diff(before: Path, after: Path, settings: FlowSettings = None) -> WrittenDifference:
    """Compare two versions of a benchmark: queries, codes, labels, and scores of named methods.

    Args:
        before: The first version's folder.
        after: The second version's folder.
        settings: The settings; None reads them from file and environment.
    """
    ready = check_inputs(settings, partial(check_comparison, benchmarks=[before, after]))
    database, scoring = ready.database, ready.settings.scoring
    first, second = (open_benchmark(database, folder) for folder in (before, after))
    is_asked = bool(scoring.evaluation.methods)
    old = score_methods(database, first, scoring) if is_asked else []
    new = score_methods(database, second, scoring) if is_asked else []
    return compare_versions(
        first, second, results_of(old), results_of(new), scoring.evaluation, scoring.publish,
        wait_for=[*old, *new],
    )  # fmt: skip
