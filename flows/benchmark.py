"""The benchmark flow: the whole pipeline."""

from prefect import State, flow
from prefect.states import Completed

from flows.annotate import judge_as_far_as_asked
from flows.collect import collect_candidates, with_notes
from flows.evaluate import score_benchmarks
from flows.publish import export_sentence, publish_labels
from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, run_name
from tasks.runtime.input_checks import check_judging
from tasks.runtime.references import JudgedPairs
from tasks.stages.annotate.plan import AnnotationRun
from tasks.stages.preflight import check_agents, check_inputs
from tasks.stages.report import WrittenReport


@flow(name="benchmark", flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
def benchmark(settings: FlowSettings = None) -> State[WrittenReport]:
    """Run the whole pipeline: collect, annotate, publish, evaluate.

    Work that an earlier run finished is not repeated. Settings may leave the agents out.
    """
    ready = check_inputs(settings, check_judging)
    recipe = check_agents(ready) if ready.settings.annotation.agents else None
    source, steps = collect_candidates(ready)
    judged = JudgedPairs()
    if recipe:
        run = AnnotationRun.of(source.search, recipe, ready.settings)
        judged, steps = judge_as_far_as_asked(ready, run, steps)
    exported = publish_labels(ready, source, steps)
    outcome = f"{judged}; {export_sentence(exported)}"
    report = score_benchmarks(ready, source, exported)
    message = with_notes(f"{ready.settings.source.title}: {outcome}", source)
    return Completed(data=report, message=message)
