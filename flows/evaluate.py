"""Stage 6 as a flow: retrieval methods are scored, and the report is written."""

from prefect import flow

from flows.runtime.run_names import run_name
from infra.settings import Settings
from tasks.ranking.methods import chosen_methods
from tasks.stages.collect import stored_collections
from tasks.stages.evaluate import evaluate_method, exports
from tasks.stages.preflight import checked
from tasks.stages.report import WrittenReport, write_report


@flow(name="evaluate", flow_run_name=run_name)
def evaluate(settings: Settings | None = None) -> WrittenReport:
    """Score every method on every export of the source's collections; write the report.

    Args:
        settings: What to evaluate; read from file and environment when not given.
    """
    settings = checked(settings)
    collections = stored_collections(settings.store, settings.source)
    methods = chosen_methods(settings.evaluation, settings.search)
    published = []
    for collection in collections:
        for export in exports(collection, settings):
            for method in methods:
                evaluate_method(collection, export, method, settings)
            published.append(export.published)
    return write_report(collections, published, settings)
