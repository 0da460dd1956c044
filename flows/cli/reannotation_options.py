"""Options that say for which reasons pairs are judged, how many, and at what cost."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from flows.cli.input_options import INSTEAD, JUDGE
from infra.errors import SettingsError
from infra.settings import REASONS

Reasons = Annotated[
    list[str] | None,
    typer.Option(
        "--reason",
        metavar="REASON",
        help=f"Judge pairs that are pending for this reason: {', '.join(REASONS)}. Repeat it for "
        "several, the most urgent first. `failed` takes those that are not due yet too.",
        show_default="all but audit",
        rich_help_panel=JUDGE,
    ),
]
Pairs = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Judge at most N pairs in this run, over all labelling rounds; with the reason audit, "
        "audit N labelled pairs, or what the other reasons leave of them.",
        show_default="all pending ones",
        rich_help_panel=JUDGE,
    ),
]
BudgetUsd = Annotated[
    float | None,
    typer.Option(
        "--budget-usd",
        metavar="DOLLARS",
        help="End this run when it has cost so much; needs a model with a known price.",
        show_default="none",
        rich_help_panel=JUDGE,
    ),
]
Plan = Annotated[
    bool,
    typer.Option(
        "--plan",
        help="Print the pending pairs by reason, and what judging them is expected to take; also "
        "before anything is collected.",
        rich_help_panel=INSTEAD,
    ),
]


def refuse_several(instead: Mapping[str, bool]) -> None:
    """Refuse more than one option that prints something instead of running.

    Raises:
        SettingsError: Several are given.
    """
    given = [name for name, is_given in instead.items() if is_given]
    if len(given) > 1:
        raise SettingsError(f"{' and '.join(given)} are given together: leave all but one out")


def reannotation(
    reasons: Sequence[str], pairs: int | None, budget_usd: float | None
) -> dict[str, object]:
    """Return what the options say of the section: who asks for failed pairs wants all of them."""
    return {
        "take": reasons or None,
        "pairs": None if reasons == ["audit"] else pairs,
        "audit_pairs": pairs if "audit" in reasons else None,
        "retry_all": "failed" in reasons or None,
        "budget_usd": budget_usd,
    }
