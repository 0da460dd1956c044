"""The budget of one run: what it may cost beside the budget that all runs share."""

from agents import spent_usd
from infra.settings import Settings


def spent_before(settings: Settings) -> float:
    """Return the US dollars that all judges have cost, where a run has a budget of its own."""
    if settings.reannotation.budget_usd is None or settings.by_judge[0].llm.is_demo:
        return 0.0
    return sum(map(spent_usd, settings.by_judge))


def with_run_budget(settings: Settings, before_usd: float | None = None) -> Settings:
    """Return a judge's settings by which a run ends when it has cost its own budget.

    Budgets are of all judges together, who judge one after the other: what the others have spent is
    taken off, also off the budget that `cosqa limit` sets meanwhile. The demo model costs nothing
    and has no budget.

    Args:
        settings: The settings of the judge.
        before_usd: What all judges had cost before the run (`spent_before`); now if not given.
    """
    llm, of_run = settings.llm, settings.reannotation.budget_usd
    if llm.is_demo:
        return settings
    others_usd = sum(spent_usd(item) for item in settings.by_judge if item.llm.model != llm.model)
    llm = llm.beside(others_usd)
    if of_run is not None:
        before_usd = spent_before(settings) if before_usd is None else before_usd
        llm = llm.ending_at(max(0.0, before_usd + of_run - others_usd))
    return settings.model_copy(update={"llm": llm})
