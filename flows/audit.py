"""The audit flow: a sample of labelled pairs is judged again, to see whether labels are stable."""

from prefect import flow

from flows.annotate import agreed, audit_labels
from flows.runtime.parameters import FlowSettings
from flows.runtime.run_names import run_name
from flows.runtime.writing import writing
from infra.budget import run_budget
from tasks.stages.annotate.audit import Audit
from tasks.stages.annotate.rounds import AnnotationRun
from tasks.stages.annotate.run_plan import plan_run
from tasks.stages.preflight import check_agents, check_ready, collected_source


@flow(name="audit", flow_run_name=run_name)
def audit(settings: FlowSettings = None) -> Audit | None:
    """Judge a random sample of labelled pairs again; store Krippendorff's alpha with its interval.

    Where the settings ask for it, a person agrees to the plan first; None is a declined one.

    Args:
        settings: The settings; None reads them from file and environment.

    Raises:
        StabilityError: The labels differ too much, or more than in the audit before.
    """
    ready = check_ready(settings)
    recipe = check_agents(ready.settings)
    return audit_as_agreed(AnnotationRun(collected_source(ready).search, recipe, ready.settings))


def audit_as_agreed(run: AnnotationRun) -> Audit | None:
    """Show the plan of an audit and carry it out as far as it is approved.

    The number of pairs that is set for a run is not for an audit by itself, which has its own.

    Args:
        run: Whose labels are judged again.
    """
    policy = run.settings.reannotation.model_copy(update={"take": ("audit",), "pairs": None})
    run = run.by(run.settings.model_copy(update={"reannotation": policy}))
    planned = plan_run(run, return_state=True)
    run = run.by(run.recipe.settings(agreed(planned.result(), run.settings).bound(run.settings)))
    if "audit" not in run.settings.reannotation.take:
        return None
    with writing(run.settings.store):  # what a run that this one waits for spends is not its own
        return audit_labels(run, run_budget(run.settings), after=[planned])[0]
