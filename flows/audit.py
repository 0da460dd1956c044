"""The audit flow: a sample of labelled pairs is judged again, to see whether labels are stable."""

from prefect import flow

from flows.annotate import audit_labels, show_plan
from flows.runtime.approval import approved
from flows.runtime.parameters import FlowSettings
from flows.runtime.run_names import run_name
from flows.runtime.writing import writing
from infra.budget import run_budget
from tasks.stages.annotate.audit import Audit
from tasks.stages.annotate.rounds import AnnotationRun
from tasks.stages.annotate.run_plan import plan_run
from tasks.stages.preflight import check_agents, check_ready, collected_source


@flow(name="audit", flow_run_name=run_name)
def audit(settings: FlowSettings = None) -> Audit:
    """Judge a random sample of labelled pairs again; store Krippendorff's alpha with its interval.

    Where the settings ask for it, a person approves the plan first.

    Args:
        settings: The settings; None reads them from file and environment.

    Raises:
        StabilityError: The labels differ too much, or more than in the audit before.
    """
    ready = check_ready(settings)
    recipe = check_agents(ready.settings)
    return audit_as_approved(AnnotationRun(collected_source(ready).search, recipe, ready.settings))


def audit_as_approved(run: AnnotationRun) -> Audit:
    """Show the plan of an audit and carry it out once it is approved.

    The number of pairs that is set for a run is not for an audit by itself, which has its own.

    Args:
        run: Whose labels are judged again.
    """
    policy = run.settings.reannotation.model_copy(update={"take": ("audit",), "pairs": None})
    run = run.by(run.settings.model_copy(update={"reannotation": policy}))
    planned = plan_run(run, return_state=True)
    show_plan(planned.result())
    run = run.by(run.recipe.settings(approved(planned.result(), run.settings)))
    with writing(run.settings.store):  # what a run that this one waits for spends is not its own
        return audit_labels(run, run_budget(run.settings), after=[planned])[0]
