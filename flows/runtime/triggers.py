"""The automations that go with the deployments: who buries the dead, and starts them again.

A worker or a machine that dies tells nobody. Its runs stay "running" or "pending" on the server,
which the automations here see by what does not come: the next sign of life, or the start. What has
crashed is started again. The store itself needs none of them: its lease goes with the process that
holds it, and a run judges what is pending.
"""

from collections.abc import Iterable
from datetime import timedelta

from prefect.events.actions import CancelFlowRun, ChangeFlowRunState, RunDeployment
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.server.schemas.states import StateType

from flows.deployments import DEPLOYMENTS, TAG

NAME_PREFIX = "cosqa: "
_SIGN_OF_LIFE = "prefect.flow-run.heartbeat"
_RUNS = {"prefect.resource.id": "prefect.flow-run.*"}
# By their names, since a flow within a run has neither the deployment nor its tags.
_OURS = {
    "prefect.resource.role": "flow",
    "prefect.resource.name": [*(each.name for each in DEPLOYMENTS), "annotate-pairs"],
}
# A run without a process: ended, or put off until somebody or something lets it go on.
_RESTING = (
    "Completed", "Failed", "Crashed", "Cancelled", "Suspended", "Scheduled", "AwaitingRetry",
    "Resuming", "Late",
)  # fmt: skip
_STARTED = ("Running", "Retrying", "Paused", "Cancelling")
_SILENT_S = 180.0  # so long a server may be away, to be restarted, before runs count as dead
_PENDING_S = 600.0  # an image may have to be pulled
_LATE_S = 12 * 3600.0  # a nightly run that finds no worker until noon
_RESTART_S = 6 * 3600.0  # once a night
_SAME_PARAMETERS: dict[str, object] = {
    "__prefect_kind": "json",
    "value": {"__prefect_kind": "jinja", "template": "{{ flow_run.parameters | tojson }}"},
}


def housekeeping() -> list[AutomationCore]:
    """Return the automations that end runs which nothing else ends."""
    return [
        AutomationCore(
            name=f"{NAME_PREFIX}a run that shows no sign of life has crashed",
            description="Its process is gone, with its worker or its machine.",
            trigger=_missing({_SIGN_OF_LIFE}, {_SIGN_OF_LIFE, *_events(_RESTING)}, _SILENT_S),
            actions=[_crashed("it has shown no sign of life for three minutes")],
        ),
        AutomationCore(
            name=f"{NAME_PREFIX}a run that stays pending has crashed",
            description="A worker took it and never started it.",
            trigger=_missing(
                _events(("Pending",)),
                {_SIGN_OF_LIFE, *_events((*_STARTED, *_RESTING))},  # of two one may be lost
                _PENDING_S,
            ),
            actions=[_crashed("a worker took it ten minutes ago and has not started it")],
        ),
        AutomationCore(
            name=f"{NAME_PREFIX}a run that no worker takes is cancelled",
            description="So runs do not pile up while no worker is there.",
            trigger=_missing(
                _events(("Late",)), _events(("Pending", *_STARTED, *_RESTING[:-1])), _LATE_S
            ),
            actions=[CancelFlowRun()],
        ),
    ]


def restart() -> AutomationCore:
    """Return the automation that starts a crashed run again, with its parameters, as a new run.

    For each deployment it acts once in six hours, so that what crashes whenever it runs ends. A new
    run instead of another try of the old one: where a server that was away took a living run for a
    dead one, that run keeps its own states, and the new one finds the store in use and ends.
    """
    return AutomationCore(
        name=f"{NAME_PREFIX}a run that crashed is started again",
        description="Once in six hours for each deployment; the new run goes on with what is left.",
        trigger=EventTrigger(
            expect=_events(("Crashed",)), match=_RUNS,
            match_related={"prefect.resource.id": f"prefect.tag.{TAG}"},
            for_each={"related:deployment:prefect.resource.id"},
            posture=Posture.Reactive, threshold=1, within=timedelta(seconds=_RESTART_S),
        ),
        actions=[
            RunDeployment(
                source="inferred", deployment_id=None, parameters=_SAME_PARAMETERS
            )
        ],
    )  # fmt: skip


def _missing(after: set[str], expected: set[str], seconds: float) -> EventTrigger:
    """Return a trigger for runs of ours to which, after one event, none of others happens."""
    return EventTrigger(
        after=after, expect=expected, match=_RUNS, match_related=_OURS,
        for_each={"prefect.resource.id"}, posture=Posture.Proactive, threshold=1,
        within=timedelta(seconds=seconds),
    )  # fmt: skip


def _events(states: Iterable[str]) -> set[str]:
    return {f"prefect.flow-run.{state}" for state in states}


def _crashed(reason: str) -> ChangeFlowRunState:
    return ChangeFlowRunState(state=StateType.CRASHED, message=f"Crashed: {reason}.")
