"""The flows that deployments run: each reads its form and calls the flow of its name.

A run that finds another one writing into the store ends as cancelled with that run's name: for a
schedule this is no failure. One whose plan is declined ends as completed. A spent budget that ends
a run is told to the server, whose automation pauses the deployment. Flows are imported when they
run, each run in a process of its own.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from prefect import Flow
from prefect.context import FlowRunContext
from prefect.logging import get_run_logger
from prefect.states import Cancelled, Completed

from flows.cli.output import leaves, message_of
from flows.deployments import DEPLOYMENTS, Deployment, form_of
from flows.options import Options
from flows.runtime.approval import DeclinedError
from flows.runtime.chains import start_next
from flows.runtime.parameters import arguments_of
from flows.runtime.run_names import run_name, subject_of
from flows.runtime.steps import SIDE_BY_SIDE
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
            with _telling_of_budget(answers):
                result = _called(name, deployment.options.of_form(answers))
        except StoreBusyError as busy:
            get_run_logger().warning("this run ends without having done anything: %s", busy)
            return Cancelled(message=f"Skipped: {busy}")
        except DeclinedError as declined:
            return Completed(message=str(declined))
        context = FlowRunContext.get()
        if context and context.flow_run and context.flow_run.deployment_id:
            start_next(context.flow_run)
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


def _called(name: str, options: Options) -> object:
    """Return what a flow of this folder returns, called within this run."""
    flow: Flow[..., Any] = getattr(import_module(f"flows.{name}"), name)
    return flow.fn(**arguments_of(flow, options))


FLOWS = {each.name.replace("-", "_"): _entry(each) for each in DEPLOYMENTS}
globals().update(FLOWS)  # their entrypoints name them as this module's
