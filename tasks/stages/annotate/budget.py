"""The budget of one run: what it may cost beside the budget that all runs share."""

from agents import spent_usd
from infra.settings import Settings


def with_run_budget(settings: Settings) -> Settings:
    """Return settings by which a run ends when it has cost its own budget beyond what is spent now.

    The demo model costs nothing and has no budget.
    """
    of_run = settings.reannotation.budget_usd
    if of_run is None or settings.llm.is_demo:
        return settings
    ending = settings.llm.ending_at(spent_usd(settings) + of_run)
    return settings.model_copy(update={"llm": ending})
