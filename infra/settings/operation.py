"""The section of the settings on runs that a Prefect server schedules and people watch."""

from pydantic import Field

from infra.settings.section import Section


class OperationSettings(Section):
    """Runs that are scheduled and watched: who must agree to them, who is told of alarms."""

    approve: bool = Field(
        False,
        description="Whether annotation by a deployment waits in the Prefect UI until a person "
        "approves its plan, which then bounds its pairs and its cost. The deployments annotate "
        "and benchmark are registered with it: change it in the UI (Edit). Commands cannot "
        "wait and are refused: `--plan` shows their plan. generate and compare-annotators never "
        "wait; llm.budget_usd bounds them.",
    )
    notification_block: str = Field(
        "",
        pattern=r"^([a-z0-9-]+/[a-z0-9-]+)?$",
        description="Prefect notification block, as TYPE/NAME such as slack-webhook/benchmarks, "
        "to which alarms go: canaries judged wrongly, a falling alpha, a spent budget. `cosqa "
        "deploy` registers it, and `cosqa server` when it starts. Without one alarms stand in the "
        "event feed, the run's log and its artifacts.",
    )
