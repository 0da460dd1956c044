"""The budget of one run: what it may cost beside the budget that all runs share."""

from agents import spent_usd
from infra.settings import Settings


def with_run_budget(settings: Settings) -> Settings:
    """Return settings whose model's budget ends where that of the run does, from what is spent now.

    The demo model costs nothing and has no budget.
    """
    of_run = settings.reannotation.budget_usd
    if of_run is None or settings.llm.is_demo:
        return settings
    limit = spent_usd(settings) + of_run
    shared = settings.llm.budget_usd
    llm = {"budget_usd": limit if shared is None else min(limit, shared)}
    return settings.model_copy(update={"llm": settings.llm.model_copy(update=llm)})
