"""The whole road as one flow."""

from prefect import flow

from flows.annotate import annotate
from flows.collect import collect
from flows.evaluate import evaluate
from flows.publish import publish
from flows.runtime.run_names import run_name
from infra.settings import Settings
from tasks.stages.preflight import checked
from tasks.stages.report import WrittenReport


@flow(name="benchmark", flow_run_name=run_name)
def benchmark(settings: Settings | None = None) -> WrittenReport:
    """Collect, annotate, publish and evaluate, each doing what is left to do.

    Args:
        settings: What to build and how; read from file and environment when not given.
    """
    settings = checked(settings, judging=True)
    collect(settings)
    annotate(settings)
    publish(settings)
    return evaluate(settings)
