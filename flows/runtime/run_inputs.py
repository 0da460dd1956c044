"""What a run has asked a person and what it was answered, as the Prefect server keeps it.

Prefect stores each of a run's inputs once, and forgets that a run was suspended when it is started
again after its end, by Retry in the UI: then it is to ask anew.
"""

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.context import FlowRunContext
from prefect.input.actions import delete_flow_run_input, read_flow_run_input
from prefect.states import Running

PAUSE_KEY = "approval"
OFFERED = "cosqa-offer"  # where a run leaves what it offers
DECIDED_BY = "cosqa-decided-by"  # where `cosqa approve` leaves who approves
_FORM = f"suspended-{PAUSE_KEY}"  # as Prefect names it
FORM_KEY = f"{_FORM}-schema"
_KEYS = (OFFERED, DECIDED_BY, FORM_KEY, f"{_FORM}-description", f"{_FORM}-response")


def deployed_run() -> FlowRun | None:
    """Return the deployment's run that this process works on, as it was when the process began."""
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    return run if run and run.deployment_id else None


def was_answered() -> bool:
    """Return whether this process goes on with a run that has asked a person and was answered."""
    run = deployed_run()
    return bool(run and PAUSE_KEY in (run.empirical_policy.pause_keys or ()))


def show_alive() -> None:
    """Have the server take this run for a living one, as only such a run can ask.

    A server that was away for minutes has seen no sign of life of it, and marked it as crashed.
    """
    run = deployed_run()
    with get_client(sync_client=True) as client:
        state = client.read_flow_run(run.id).state if run else None
        if run and state and state.is_crashed():
            client.set_flow_run_state(run.id, Running(), force=True)


def forget_question() -> None:
    """Remove what this run asked before it ended and was started again, so that it can ask anew."""
    for key in _KEYS:
        if read_flow_run_input(key) is not None:
            delete_flow_run_input(key)
