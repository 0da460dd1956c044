"""Automations of the Prefect server that act on the events of runs; `cosqa deploy` registers them.

A run ends by itself when its budget is spent or its canaries are judged wrongly: what it was paid
for is stored. These automations keep the schedule from running into the same wall, and tell people.
"""

from typing import Any

from prefect.client.orchestration import get_client
from prefect.events.actions import PauseDeployment, SendNotification
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.exceptions import ObjectNotFound

from flows.runtime.triggers import NAME_PREFIX
from infra.errors import SettingsError
from infra.settings import OperationSettings
from tasks.runtime.run_events import (
    AUDIT_ALARM,
    BUDGET_EXHAUSTED,
    CANARY_ALARM,
    RUN_BUDGET_EXHAUSTED,
)

NOTIFY = f"{NAME_PREFIX}notify of alarms"
_SUBJECT = "CoSQA+: {{ event.resource.name }}"
_BODY = "{{ event.event }}\n\n{{ event.payload.message }}"


def stop_on_budget() -> AutomationCore:
    """Return the automation that pauses a deployment whose run has spent its model's budget."""
    return AutomationCore(
        name=f"{NAME_PREFIX}stop on budget",
        description="Pauses the deployment whose run has spent its model's budget. Raise the "
        "budget (COSQA_LLM__BUDGET_USD where it runs, or `cosqa limit --budget-usd`), then "
        "resume the deployment: `cosqa resume --deployment NAME`, or here in the UI.",
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
            description="Tells of canaries judged wrongly, of labels that are less stable than "
            "they are to be, and of a spent budget.",
            trigger=_on({CANARY_ALARM, AUDIT_ALARM, BUDGET_EXHAUSTED, RUN_BUDGET_EXHAUSTED}),
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
