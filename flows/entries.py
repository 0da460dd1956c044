"""The flows that deployments run: each reads its form and calls the flow of its name.

A run that finds another one writing into the store, or waiting for approval of the same, ends as
cancelled with that run's name: for a schedule this is no failure. So does one that an automation
or a run before it starts while its deployment is paused. A spent budget that ends a run is told to
the server, whose automation pauses the deployment. Flows are imported when they run, each run in a
process of its own.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.logging import get_run_logger
from prefect.states import Cancelled

from flows.cli.output import leaves, message_of
from flows.deployments import DEPLOYMENTS, Deployment, form_of
from flows.options import Options
from flows.runtime.chains import is_chained, start_next
from flows.runtime.parameters import arguments_of
from flows.runtime.paused_deployments import how_to_lift
from flows.runtime.run_inputs import deployed_run, was_answered
from flows.runtime.run_names import run_name, subject_of
from flows.runtime.steps import SIDE_BY_SIDE
from flows.runtime.waiting_runs import waiting_runs
from infra.errors import (
    BudgetExhaustedError,
    RunBudgetExhaustedError,
    StoreBusyError,
    UnrecordableError,
)
from tasks.runtime import run_events

_OF_ONE_RUN = (RunBudgetExhaustedError, UnrecordableError)


def _entry(deployment: Deployment) -> Flow[..., Any]:
    """Return the flow of a deployment, whose parameters are the questions of its form."""
    name = deployment.name.replace("-", "_")

    def run(**answers: object) -> object:
        try:
            if reason := _needless():
                return _skipped(reason)
            with _telling_of_budget(answers):
                result = _called(name, deployment.options.of_form(answers))
        except StoreBusyError as busy:
            return _skipped(str(busy))
        if own := deployed_run():
            start_next(own)
        return result

    run.__name__ = run.__qualname__ = name
    run.__doc__ = deployment.description
    run.__signature__ = form_of(deployment.options, is_called=True)  # type: ignore[attr-defined]
    flow = Flow(run, name=deployment.name, flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
    flow.__signature__ = form_of(deployment.options)  # type: ignore[attr-defined]
    return flow


@contextmanager
def _telling_of_budget(answers: Mapping[str, object]) -> Iterator[None]:
    """Tell of a spent budget that ends the ``with``, unless the stage that met it has done so.

    It is the budget that all runs share: that of a run alone, and a disk that keeps no spending,
    are none that the next run would meet.
    """
    told = run_events.budgets_told()
    try:
        yield
    except Exception as error:
        spent = [each for each in leaves(error) if isinstance(each, BudgetExhaustedError)]
        shared = [each for each in spent if not isinstance(each, _OF_ONE_RUN)]
        if shared and run_events.budgets_told() == told:
            told_of = subject_of(answers), message_of(shared[0])
            run_events.tell(run_events.BUDGET_EXHAUSTED, *told_of, {})
        raise


def _skipped(reason: str) -> State[object]:
    get_run_logger().warning("this run ends without having done anything: %s", reason)
    return Cancelled(message=f"Skipped: {reason}")


def _needless() -> str:
    """Return why this run of a deployment is not to do anything, or "", as where it was answered.

    Without this a run a night would come to wait while nobody looks. And of a deployment that is
    paused Prefect holds back the schedule alone, not what automations and chains start.
    """
    own = deployed_run()
    if own is None or was_answered():
        return ""
    with get_client(sync_client=True) as client:
        if _is_automatic(own) and (found := client.read_deployment(str(own.deployment_id))).paused:
            return f"its deployment is paused: {how_to_lift(found.name)}; a run by hand starts now"
        waiting = waiting_runs(client)
    twins = [
        run.name
        for run in waiting
        if run.deployment_id == own.deployment_id and run.parameters == own.parameters
    ]
    return f"the run {twins[0]!r} waits for approval of the same" if twins else ""


def _is_automatic(run: FlowRun) -> bool:
    """Return whether a chain or an automation has started it; not what a person starts again."""
    made_by = run.created_by.type if run.created_by else None
    return (is_chained(run) or made_by == "AUTOMATION") and run.run_count < 2


def _called(name: str, options: Options) -> object:
    """Return what a flow of this folder returns, called within this run."""
    flow: Flow[..., Any] = getattr(import_module(f"flows.{name}"), name)
    return flow.fn(**arguments_of(flow, options))


FLOWS = {each.name.replace("-", "_"): _entry(each) for each in DEPLOYMENTS}
globals().update(FLOWS)  # their entrypoints name them as this module's
