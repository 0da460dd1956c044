"""The whole pipeline as one flow."""

from prefect import flow

from flows.annotate import judge_candidates
from flows.collect import collect_candidates
from flows.evaluate import score_benchmarks
from flows.publish import publish_labels
from flows.runtime.parameters import FlowSettings
from flows.runtime.run_names import run_name
from tasks.stages.preflight import check_agents, check_ready
from tasks.stages.report import WrittenReport


@flow(name="benchmark", flow_run_name=run_name)
def benchmark(settings: FlowSettings = None) -> WrittenReport:
    """Collect, annotate, publish and evaluate, each doing what is left to do.

    Args:
        settings: What to build and how; read from file and environment when not given.
    """
    ready = check_ready(settings)
    recipe = check_agents(ready.settings)
    source = collect_candidates(ready)
    judge_candidates(ready, source.search, recipe)
    return score_benchmarks(ready, source, publish_labels(ready, source))
