"""What `--dry-run` and `--replay` print instead of running the pipeline."""

from flows.cli.console import console
from infra.settings import Settings
from infra.store import open_database
from tasks.stages.annotate.forecast import estimate
from tasks.stages.replay import Replay, replay


def print_estimate(settings: Settings) -> None:
    """Print how many pairs there are, how many are left, and what they may cost."""
    found = estimate(settings)
    cost = "unknown" if found.cost_usd is None else f"${found.cost_usd:,.2f}"
    console.print(
        f"{found.queries:,} queries, top {settings.search.top_k}: {found.pairs:,} pairs, "
        f"{found.finished:,} judged already, {found.pending:,} left to judge by "
        f"{settings.llm.model}.\nExpected cost: {cost} ({found.basis})."
    )


def print_replay(settings: Settings) -> None:
    """Derive all labels of the store again and print what names them."""
    recipes = 0
    for found in replay(open_database(settings.store), settings):
        recipes += 1
        console.print(f"{found.model}, recipe {found.recipe_id}: {_what_became_of(found)}")
    if not recipes:
        console.print("There are no labels of agents in this store.")


def _what_became_of(found: Replay) -> str:
    if found.made_by:
        return (
            f"left alone, since {found.made_by} made its labels: replay them with the version that "
            "has it, or annotate again"
        )
    left_out = ""
    if found.without_text:
        left_out = f"; {found.without_text:,} more left out, their texts are not in the store"
    return (
        f"{found.pairs:,} labels derived again from stored replies and runs, all as they are "
        f"stored (digest {found.digest}){left_out}"
    )
