"""The budgets of a run: its own, and that in dollars which all judges and runs share."""

from collections.abc import Sequence

from agents import spent
from infra.settings import Settings


def spent_before(settings: Settings) -> tuple[int, float]:
    """Return the tokens and US dollars that all judges have cost."""
    return _spent_by(settings.by_judge)


def with_shared_budget(settings: Settings) -> Settings:
    """Return settings by which a run without a budget of its own keeps to that of all judges.

    What judges by other models have spent is taken off the budget in dollars; their keys, which
    such a run does not need, are not asked for.

    Args:
        settings: The model that the run asks.
    """
    llm = settings.llm
    if llm.is_recorded:
        return settings
    others = {name for name in settings.annotation.judges if name != llm.model}
    asked = (llm.model_copy(update={"model": name}) for name in sorted(others))
    _, usd = _spent_by([settings.model_copy(update={"llm": other}) for other in asked])
    return settings.model_copy(update={"llm": llm.beside(usd)})


def with_run_budget(settings: Settings, before: tuple[int, float] | None = None) -> Settings:
    """Return a judge's settings by which a run ends when it has cost its own budget.

    They know from what sums the run's own cost is counted. Budgets are of all judges together, who
    judge one after the other: what the others have spent is taken off, also off the budget that
    `cosqa limit` sets meanwhile. Recorded replies have none.

    Args:
        settings: The settings of the judge.
        before: What all judges had cost before the run (`spent_before`); now if not given.
    """
    llm, of_run = settings.llm, settings.reannotation.budget_usd
    if llm.is_recorded:
        return settings
    others = [item for item in settings.by_judge if item.llm.model != llm.model]
    others_tokens, others_usd = _spent_by(others)
    tokens, usd = before or spent_before(settings)
    llm = llm.beside(others_usd).since(tokens - others_tokens, usd - others_usd)
    if of_run is not None:
        llm = llm.ending_at(max(0.0, usd + of_run - others_usd))
    return settings.model_copy(update={"llm": llm})


def _spent_by(judges: Sequence[Settings]) -> tuple[int, float]:
    found = [spent(judge) for judge in judges]
    return sum(tokens for tokens, _ in found), sum(usd for _, usd in found)
