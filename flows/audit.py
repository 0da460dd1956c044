"""The audit flow: a sample of labelled pairs is judged again, to see whether labels are stable."""

from prefect import flow

from flows.annotate import agreed, audit_labels
from flows.runtime.parameters import FlowSettings
from flows.runtime.run_names import run_name
from flows.runtime.writing import writing
from infra.budget import run_budget
from tasks.runtime.references import RecipeReference, SearchReference
from tasks.stages.annotate.audit import Audit
from tasks.stages.annotate.run_plan import plan_run
from tasks.stages.preflight import Ready, check_agents, check_ready, collected_source


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
    return audit_as_agreed(ready, collected_source(ready).search, recipe)


def audit_as_agreed(ready: Ready, search: SearchReference, recipe: RecipeReference) -> Audit | None:
    """Show the plan of an audit and carry it out as far as it is approved.

    The number of pairs that is set for a run is not for an audit by itself, which has its own.

    Args:
        ready: The checked inputs.
        search: The candidates.
        recipe: The recipe whose labels are judged again.
    """
    policy = ready.settings.reannotation.model_copy(update={"take": ("audit",), "pairs": None})
    audited = ready.settings.model_copy(update={"reannotation": policy})
    planned = plan_run(search, recipe, audited, return_state=True)
    audited = recipe.settings(agreed(planned.result(), ready).bound(audited))
    if "audit" not in audited.reannotation.take:
        return None
    with writing(audited.store):  # what a run spends that this one waits for is not of its budget
        return audit_labels(search, recipe, audited, run_budget(audited), after=[planned])[0]
