"""The evaluate flow: scores of retrieval methods, and the report."""

from collections.abc import Sequence

from prefect import flow

from flows.runtime.parameters import FlowSettings
from flows.runtime.run_names import run_name
from infra.store.benchmarks import Published
from tasks.ranking.methods import chosen_methods
from tasks.runtime.references import CollectedSource
from tasks.stages.labels import exported_recipe, label_sets
from tasks.stages.preflight import Ready, check_ready, check_scoring, collected_source
from tasks.stages.publish import published_benchmarks
from tasks.stages.report import WrittenReport, write_report
from tasks.stages.scoring import OpenBenchmark, score_method


@flow(name="evaluate", flow_run_name=run_name)
def evaluate(settings: FlowSettings = None) -> WrittenReport:
    """Score every method on every export of the source's collections; write the report.

    Args:
        settings: The settings; None reads them from file and environment.
    """
    ready = check_ready(settings)
    check_scoring(ready.settings)
    source = collected_source(ready)
    recipe = exported_recipe(ready.database, source.search, ready.settings.publish)
    labels = label_sets(ready.database, source, recipe)
    published = published_benchmarks(ready.database, labels, ready.settings.publish)
    return score_benchmarks(ready, source, published)


def score_benchmarks(
    ready: Ready, source: CollectedSource, published: Sequence[Published]
) -> WrittenReport:
    """Score every method on the given exports of a source's collections; write the report."""
    database, settings = ready.database, ready.settings
    for reference in published:
        benchmark = OpenBenchmark(reference)
        for method in chosen_methods(settings.evaluation, settings.search):
            score_method(database, benchmark, method, settings)
    return write_report(database, source, published, settings)
