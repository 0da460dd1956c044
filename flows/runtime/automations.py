"""Automations of the Prefect server that act on the events of runs; `cosqa deploy` registers them.

A worker or a machine that dies tells nobody. Its runs stay "running" or "pending" on the server,
which `housekeeping` sees by what does not come: the next sign of life, or the start. What has
crashed is started again. The store itself needs none of this: its lease goes with the process that
holds it, and a run judges what is pending.

A run ends by itself when its budget is spent or its canaries are judged wrongly: what it was paid
for is stored. The others keep the schedule from running into the same wall, and tell people.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from prefect.client.orchestration import get_client
from prefect.events.actions import (
    CancelFlowRun,
    ChangeFlowRunState,
    PauseDeployment,
    RunDeployment,
    SendNotification,
)
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.exceptions import ObjectNotFound
from prefect.server.schemas.states import StateType

from flows.deployments import DEPLOYMENTS, TAG
from infra.errors import SettingsError
from infra.settings import OperationSettings
from tasks.runtime.run_events import BUDGET_EXHAUSTED, CANARY_ALARM, RUN_BUDGET_EXHAUSTED

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


NOTIFY = f"{NAME_PREFIX}notify of alarms"
_SUBJECT = "CoSQA+: {{ event.resource.name }}"
_BODY = "{{ event.event }}\n\n{{ event.payload.message }}"


def stop_on_budget() -> AutomationCore:
    """Return the automation that pauses a deployment whose run has spent its model's budget."""
    return AutomationCore(
        name=f"{NAME_PREFIX}stop on budget",
        description="Pauses the deployment whose run has spent its model's budget. Raise the "
        "budget (COSQA_LLM__BUDGET_USD where it runs), then resume the deployment here in the UI.",
        trigger=_on({BUDGET_EXHAUSTED}),
        actions=[PauseDeployment(source="inferred", deployment_id=None)],
    )


def notifications(operation: OperationSettings) -> list[AutomationCore]:
    """Return the automation that tells people of alarms, if the settings name a block for it.

    Args:
        operation: Which notification block alarms go to.

    Raises:
        SettingsError: The Prefect server has no such block.
    """
    if not operation.notification_block:
        return []
    return [
        AutomationCore(
            name=NOTIFY,
            description="Tells of canaries judged wrongly, and of a spent budget.",
            trigger=_on({CANARY_ALARM, BUDGET_EXHAUSTED, RUN_BUDGET_EXHAUSTED}),
            actions=[_notification(operation.notification_block)],
        )
    ]


def _on(events: set[str]) -> EventTrigger:
    return EventTrigger(expect=events, posture=Posture.Reactive, threshold=1)


def _notification(block: str) -> SendNotification:
    kind, _, name = block.partition("/")
    with get_client(sync_client=True) as client:
        try:
            document: Any = client.read_block_document_by_name(name, kind)
        except ObjectNotFound:
            raise SettingsError(
                f"the Prefect server has no notification block {block}, so that nobody is told of "
                "alarms: make it in the UI under Blocks, or correct "
                "COSQA_OPERATION__NOTIFICATION_BLOCK, then run `cosqa deploy`"
            ) from None
    return SendNotification(block_document_id=document.id, subject=_SUBJECT, body=_BODY)
