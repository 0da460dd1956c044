"""The section of the settings on runs that a Prefect server schedules and people watch."""

from typing import Literal

from pydantic import Field

from infra.settings.section import Section

AskFor = Literal["never", "always", "above"]


class OperationSettings(Section):
    """Runs that are scheduled and watched: who must agree to them, who is told of alarms."""

    approval: AskFor = Field(
        "never",
        description="Whether annotation waits for a person who approves its plan: `never`, "
        "`always`, or `above` what approval_above_usd says. A deployment's run waits in the "
        "Prefect UI, a command asks in its terminal.",
    )
    approval_above_usd: float = Field(
        1.0,
        ge=0,
        description="Expected cost in US dollars that `above` approves beforehand; a cost that "
        "is not known is not approved.",
    )
    approval_days: float = Field(
        14.0,
        gt=0,
        le=365,
        description="Days that a run waits for approval in the Prefect UI before it fails.",
    )
    notification_block: str = Field(
        "",
        pattern=r"^([a-z0-9-]+/[a-z0-9-]+)?$",
        description="Prefect notification block, as TYPE/NAME such as slack-webhook/benchmarks, "
        "that `cosqa deploy` sends alarms to: canaries judged wrongly, a falling alpha, a spent "
        "budget. Without one they stand in the event feed, the run's log and its artifacts.",
    )
