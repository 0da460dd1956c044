"""The run of a command's flow: its result, its end by a signal, and runs that were killed."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from copy import copy
from functools import partial, wraps
from typing import Any, cast
from uuid import UUID

import httpx
from prefect import Flow, State
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterId,
    TaskRunFilter,
    TaskRunFilterState,
    TaskRunFilterStateType,
)
from prefect.client.schemas.objects import TERMINAL_STATES, FlowRun, StateType
from prefect.context import TagsContext
from prefect.exceptions import ObjectNotFound, TerminationSignal
from prefect.flow_engine import run_flow
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, PREFECT_HOME, temporary_settings
from prefect.states import Cancelled, Completed, Crashed, Pending
from prefect.utilities.callables import get_call_parameters

from flows import when_stopped
from flows.runtime.prefect_server import prefect_api
from flows.runtime.runs import flow_of
from infra.files import locked

_RUNS = "cosqa-runs"
_log = logging.getLogger(__name__)


def flow_state(name: str, **arguments: object) -> State[Any]:
    """Return the final state of a flow by name, which is imported while a server starts.

    Where a signal ends it, its run, and what that had begun, is cancelled. Where this process is
    killed, the next command or `cosqa server` says that it has crashed.

    Args:
        name: The flow's.
        arguments: Its arguments.
    """
    with prefect_api(meanwhile=lambda: flow_of(name)):
        flow = flow_of(name)
        given = get_call_parameters(flow.fn, (), arguments)
        with get_client(sync_client=True) as client:
            run = client.create_flow_run(
                flow,
                parameters=flow.serialize_parameters(given),
                tags=TagsContext.get().current_tags,
                state=Pending(),
            )
        end_killed_runs()
        with _own(run.id):
            return _ended(flow, run, given)


def _ended(flow: Flow[..., Any], run: FlowRun, given: dict[str, Any]) -> State[Any]:
    """Return the final state of a run of a flow: that of the flow itself, if it completes.

    A server that was busy is told twice, and then keeps a state without the result.

    Raises:
        KeyboardInterrupt: A signal has stopped the flow; for Prefect's engine it has ended, since
            it would take the signal for a crash.
    """
    given_back: list[Any] = []
    signals: list[BaseException] = []

    @wraps(flow.fn)
    def heard(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - the flow's own
        try:
            given_back.append(flow.fn(*args, **options))
        except (KeyboardInterrupt, TerminationSignal) as signal:
            signals.append(signal)
            return _stopped()
        return given_back[0]

    listening = copy(flow)
    listening.fn = heard
    try:
        state = cast("State[Any]", run_flow(listening, run, given, return_type="state"))
    except httpx.HTTPError as error:  # all is done, and the server does not hear it
        if not given_back:
            raise
        _log.warning("the Prefect server does not take the end of the run: %s", error)
        state = Completed()
    if signals:
        raise KeyboardInterrupt
    if given_back and state.is_completed():
        (result,) = given_back
        return result if isinstance(result, State) else Completed(data=result)
    return state


@contextmanager
def _own(run: UUID) -> Iterator[None]:
    """Hold a lock that says, by its file's name, that a run goes on; it ends with this process.

    Where a signal ends the ``with``, the run is cancelled, at once and when it ends.
    """
    file = PREFECT_HOME.value() / _RUNS / str(run)
    cancel = partial(copy_context().run, _end_run, run)  # in a thread, which knows no server else
    when_stopped.append(cancel)
    with locked(file):
        try:
            yield
        except KeyboardInterrupt:
            _end_run(run)
            raise
        finally:
            when_stopped.remove(cancel)
            file.unlink(missing_ok=True)


def _stopped() -> State[Any]:
    return Cancelled(message="A signal has stopped it.")


def _end_run(run: UUID, crashed: State[Any] | None = None) -> None:
    """Tell the server that a run has ended, and its tasks; one that is away is not asked.

    Prefect's server cancels its subflows.
    """
    begun = TaskRunFilterStateType(any_=[*{*StateType} - TERMINAL_STATES, StateType.CRASHED])
    with (
        suppress(httpx.HTTPError),
        temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}),
        get_client(sync_client=True) as client,
    ):
        state = crashed or _stopped()
        client.set_flow_run_state(run, state, force=not crashed)
        for task in client.read_task_runs(
            flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run])),
            task_run_filter=TaskRunFilter(state=TaskRunFilterState(type=begun)),
        ):
            client.set_task_run_state(task.id, Cancelled(message=state.message), force=True)


def end_killed_runs() -> None:
    """Tell the server of the commands of this home whose processes were killed."""
    for file in (PREFECT_HOME.value() / _RUNS).glob("*"):
        with suppress(BlockingIOError, ObjectNotFound), locked(file, wait=False):
            _end_run(UUID(file.name), Crashed(message="Its process is gone."))
            file.unlink(missing_ok=True)
