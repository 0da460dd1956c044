"""Approval of an annotation's plan by a person, before anything is paid for.

A deployment's run is suspended: its process ends, it holds nothing, and the plan stands above a
form in the Prefect UI. Resume makes a worker start it again; the plan is made again, and what the
approved one allows, which is part of the pause's name, bounds it.
"""

from uuid import uuid4

from prefect.context import FlowRunContext
from prefect.events import emit_event
from prefect.events.related import tags_as_related_resources
from prefect.exceptions import Pause
from prefect.flow_runs import suspend_flow_run
from prefect.input import RunInput
from prefect.logging import get_run_logger
from pydantic import Field

from infra.errors import SettingsError
from infra.settings import ReannotationSettings
from tasks.reports.plan import RunPlan, plan_document
from tasks.reports.render import markdown_page

_KEY = "plan-"  # before pairs and dollars: each question has a form and an answer of its own
_PATIENCE_S = 14 * 24 * 3600


class DeclinedError(Exception):
    """A person declined the plan: no model is asked."""


class Answer(RunInput):
    """The form of a run that waits."""

    approved: bool = Field(
        True, title="Judge these pairs", description="Otherwise the run ends and asks no model."
    )
    reason: str = Field("", title="Reason", description="It is recorded at the end of the run.")


def approved(plan: RunPlan, policy: ReannotationSettings) -> ReannotationSettings:
    """Return a policy that takes no more than a person has approved.

    The first call of a run does not return: the run is suspended, and the call of the process that
    goes on with it returns.

    Raises:
        DeclinedError: The plan was declined.
        SettingsError: The run is of no deployment, so that it cannot be suspended.
    """
    if not plan.taken:
        return policy
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    if run is None or run.deployment_id is None:
        raise SettingsError(
            "COSQA_OPERATION__APPROVE lets a person approve the plan in the Prefect UI, and only a "
            "deployment's run can wait there: start the deployment, or set "
            "COSQA_OPERATION__APPROVE=false; --plan shows the plan of a command, and --budget-usd "
            "bounds what it costs"
        )
    passed = [key for key in run.empirical_policy.pause_keys or () if key.startswith(_KEY)]
    form = Answer.with_initial_data(description=markdown_page(plan_document(plan)))
    key = passed[-1] if passed else pause_key(plan)
    if not passed:
        get_run_logger().info("the plan waits for approval: press Resume in the Prefect UI")
    try:
        answer = suspend_flow_run(wait_for_input=form, timeout=_PATIENCE_S, key=key)
    except Pause:
        # Else a sign of life that came after the state would be taken for the first of a silence.
        resource = {"prefect.resource.id": f"prefect.flow-run.{run.id}"}
        tags = tags_as_related_resources(run.tags)
        emit_event("prefect.flow-run.Suspended", resource=resource, related=tags)
        raise
    if not answer.approved:
        raise DeclinedError(f"the plan was declined: {answer.reason}".rstrip(": "))
    get_run_logger().info("the plan was approved: %s", answer.reason or "without a reason")
    return bounded(key, policy)


def pause_key(plan: RunPlan) -> str:
    """Return a new name of a pause for a plan: the pairs and millionths of dollars it allows.

    Prefect takes lower-case letters, digits and dashes.
    """
    usd = plan.expected.usd
    most = (
        "any" if usd is None else round(1e6 * (usd.interval.high if usd.interval else usd.expected))
    )
    return f"{_KEY}{plan.taken}-{most}-{uuid4().hex[:12]}"


def bounded(key: str, policy: ReannotationSettings) -> ReannotationSettings:
    """Return a policy by which no more is judged or spent than an approved plan allows."""
    pairs, usd, _ = key.removeprefix(_KEY).split("-")
    most = {"pairs": int(pairs), "budget_usd": None if usd == "any" else int(usd) / 1e6}
    least = {
        name: min(value for value in (own, bound) if value is not None)
        for name, bound in most.items()
        if (own := getattr(policy, name)) is not None or bound is not None
    }
    return policy.model_copy(update=least)
