"""What ``cosqa annotators rounds`` prints: how far labelling rounds agree."""

from flows.cli.console import say
from flows.cli.tables import print_table
from infra.settings import Settings
from infra.store import open_database
from tasks.stages.labels import StoredRounds, rounds_in_store
from tasks.statistics.rounds import PUBLISHED_ALPHAS

_NOTE = (
    "alpha: Krippendorff's for nominal data, rounds as coders. Published for three rounds of "
    f"Claude 3 Sonnet over 103,020 pairs (CoSQA+ version 1): {PUBLISHED_ALPHAS[0]:.3f} and "
    f"{PUBLISHED_ALPHAS[1]:.3f}."
)


def print_rounds(settings: Settings) -> None:
    """Print a table for each recipe that judged pairs of a collection in several rounds."""
    stored = rounds_in_store(open_database(settings.store))
    for item in stored:
        _print(item)
    if not stored:
        say(
            "There are no labelling rounds in this store: COSQA_ANNOTATION__ROUNDS=3 "
            "cosqa annotate judges every pair in three."
        )


def _print(item: StoredRounds) -> None:
    figures, recipe = item.agreement, item.recipe
    rows = [
        (f"{two.first} and {two.second}", f"{two.pairs:,}", f"{two.equal:,}", _figure(two.alpha))
        for two in figures.each_two
    ]
    rows.append(("all", f"{figures.shared:,}", f"{figures.unanimous:,}", _figure(figures.alpha)))
    print_table(
        f"{item.collection}, {recipe.model}, recipe {recipe.recipe_id}: {figures.rounds} "
        f"{'judges' if recipe.judges else 'labelling rounds'}",
        ("rounds", "pairs", "equal", "alpha"),
        rows,
        rest="a wider terminal",
        note=f"{figures.by_majority:,} of {figures.pairs:,} pairs have a label by more than half "
        f"of the rounds, {figures.unanimous:,} by all of them.\n{_NOTE}",
    )


def _figure(value: float | None) -> str:
    return "undefined: all labels are equal" if value is None else f"{value:.3f}"
