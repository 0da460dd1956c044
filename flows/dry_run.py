"""``--dry-run``: the size of the work, printed."""

from flows.console import console
from infra.settings import Settings
from tasks.stages.annotate.forecast import estimate


def print_estimate(settings: Settings) -> None:
    """Print how many pairs there are, how many are left, and what they may cost."""
    found = estimate(settings)
    cost = "unknown" if found.cost_usd is None else f"${found.cost_usd:,.2f}"
    console.print(
        f"{found.queries:,} queries, top {settings.search.top_k}: {found.pairs:,} pairs, "
        f"{found.finished:,} judged already, {found.pending:,} left to judge by "
        f"{settings.llm.model}.\nExpected cost: {cost} ({found.basis})."
    )
