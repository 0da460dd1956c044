"""The audit flow: a sample of labelled pairs is judged again, to see whether labels are stable."""

from prefect import flow

from flows.annotate import audit_labels
from flows.runtime.parameters import FlowSettings
from flows.runtime.run_names import run_name
from flows.runtime.writing import writing
from tasks.stages.annotate.audit import Audit
from tasks.stages.annotate.budget import with_run_budget
from tasks.stages.preflight import check_agents, check_ready, collected_source


@flow(name="audit", flow_run_name=run_name)
def audit(settings: FlowSettings = None) -> Audit:
    """Judge a random sample of labelled pairs again; store Krippendorff's alpha with its interval.

    Args:
        settings: The settings; None reads them from file and environment.

    Raises:
        StabilityError: The labels differ too much, or more than in the audit before.
    """
    ready = check_ready(settings)
    recipe = check_agents(ready.settings)
    search = collected_source(ready).search
    with writing(ready.settings.store):
        return audit_labels(search, recipe, with_run_budget(ready.settings))
