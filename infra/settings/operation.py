"""The section of the settings on runs that a Prefect server schedules and people watch."""

from pydantic import Field

from infra.settings.section import Section


class OperationSettings(Section):
    """Runs that are scheduled and watched: who must agree to them."""

    approve: bool = Field(
        False,
        description="Whether annotation by a deployment waits in the Prefect UI until a person "
        "approves its plan, which then bounds its pairs and its cost. The deployments annotate "
        "and benchmark are registered with it: change it in the UI (Edit). Commands cannot "
        "wait and are refused: `--plan` shows their plan. generate and compare-annotators never "
        "wait; llm.budget_usd bounds them.",
    )
