"""The evaluate flow: scores of retrieval methods, and the report."""

from collections.abc import Iterable, Sequence

from prefect import flow
from prefect.futures import PrefectFuture

from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, Steps, results_of, run_name
from infra.settings import ScoringSettings
from infra.store import Database
from infra.store.benchmarks import Published
from tasks.ranking.methods import chosen_methods
from tasks.runtime.input_checks import ValidatedInputs
from tasks.runtime.references import CollectedSource
from tasks.stages.preflight import check_inputs, collected_source
from tasks.stages.publish import nothing_exported, published_benchmarks, sets_to_score
from tasks.stages.report import WrittenReport, write_report
from tasks.stages.scoring import OpenBenchmark, Run, open_exports, score_method


@flow(name="evaluate", flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
def evaluate(settings: FlowSettings = None) -> WrittenReport:
    """Score every method on every export of the source's collections; write the report."""
    ready = check_inputs(settings)
    source = collected_source(ready)
    publish = ready.settings.publish
    labels = sets_to_score(ready.database, source, publish)
    published = published_benchmarks(labels, publish)
    if not published:
        raise nothing_exported(ready.database, labels, publish, source.main.name)
    return score_benchmarks(ready, source, [(reference, ()) for reference in published])


def score_benchmarks(
    ready: ValidatedInputs,
    source: CollectedSource,
    exported: Sequence[tuple[Published | None, Steps]],
) -> WrittenReport:
    """Score every method on the given exports of a source's collections; write the report.

    Args:
        ready: The checked inputs.
        source: The collections.
        exported: The export of each set of labels, None where it has none, and its steps.
    """
    scoring = ready.settings.scoring
    before = {reference.name: steps for reference, steps in exported if reference}
    references = [reference for reference, _ in exported if reference]
    opened = open_exports(references, scoring.evaluation.answers)
    published = [benchmark.published for benchmark in opened]
    scored = [
        future
        for benchmark in opened
        for future in score_methods(ready.database, benchmark, scoring, before[benchmark.name])
    ]
    results_of(scored)
    after = [*scored, *(step for _, steps in exported for step in steps)]
    methods = chosen_methods(scoring)
    return write_report(
        ready.database, source, published, methods, scoring.evaluation.depth,
        scoring.publish.folder,
        wait_for=after,
    )  # fmt: skip


def score_methods(
    database: Database,
    benchmark: OpenBenchmark,
    settings: ScoringSettings,
    after: Steps = (),
    methods: Iterable[str] = (),
) -> list[PrefectFuture[Run]]:
    """Start to score methods on a benchmark, side by side.

    Args:
        database: The store.
        benchmark: The benchmark.
        settings: The methods, and how they rank.
        after: The steps before it.
        methods: The methods in place of those that are set.
    """
    return [
        score_method.submit(
            database, benchmark, method, settings, wait_for=after, return_state=False
        )
        for method in methods or chosen_methods(settings)
    ]
