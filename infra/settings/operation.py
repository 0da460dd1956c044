"""The section of the settings on runs that a Prefect server schedules and people watch."""

from typing import Literal

from pydantic import Field

from infra.settings.section import Section

AskFor = Literal["never", "always", "above"]
# The most that `cosqa limit` sets while a run goes on.
MOST_IN_FLIGHT = 4096
MOST_REQUESTS_PER_MINUTE = 1_000_000


class OperationSettings(Section):
    """Runs that are scheduled and watched: who must agree to them, who is told of alarms."""

    approval: AskFor = Field(
        "never",
        description="Whether annotation waits until a person approves its plan: `never`, "
        "`always`, or only `above` approval_above_usd. A command asks in its terminal, a "
        "deployment's run waits in the Prefect UI. The deployments annotate, audit and benchmark "
        "are registered with the answer `always`, which comes before this setting: change it in "
        "the UI (Edit). generate and compare-annotators never ask; llm.budget_usd bounds them.",
    )
    approval_above_usd: float = Field(
        1.0,
        ge=0,
        description="With `above`: a plan that is expected to cost at most so many US dollars "
        "needs no approval; one of unknown cost does.",
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
        "to which alarms go: canaries judged wrongly, a falling alpha, a spent budget. `cosqa "
        "deploy` registers it, and `cosqa server` when it starts. Without one alarms stand in the "
        "event feed, the run's log and its artifacts.",
    )
