"""What ``cosqa leaderboard`` and ``cosqa diff`` do: run the flow, print tables and paths."""

from flows.cli.console import say
from flows.cli.evaluation_options import DiffOptions, LeaderboardOptions
from flows.cli.tables import print_block, print_blocks, print_table
from flows.diff import diff as diff_flow
from flows.leaderboard import leaderboard as leaderboard_flow
from flows.runtime.prefect_server import prefect_api
from tasks.reports.diff import (
    Difference,
    ScoreChanges,
    counted,
    score_changes_table,
    turned,
)
from tasks.reports.leaderboard import Leaderboard, MethodRow
from tasks.stages.preflight import check_scoring, needs_server

_FLIPS = 5
_NOTE = "letters: methods that score significantly lower (p < 0.05 after Holm's correction)"


def leaderboard(options: LeaderboardOptions) -> None:
    """Run the leaderboard's flow; print its tables, the unjudged count and the page's path."""
    if not needs_server(options.settings):
        check_scoring(options.settings)
    with prefect_api():
        written = leaderboard_flow(
            options.benchmark,
            options.runs,
            options.settings,
            unjudged_to_annotate=options.unjudged_to_annotate,
        )
    page = str(written.folder / "leaderboard.html")
    print_leaderboard(written.before, page)
    if written.after:
        print_leaderboard(written.after, page, ", with unjudged results judged")
    say(f"{written.unjudged:,} results among the first 10 were never judged")
    say(f"leaderboard: {page}")


def print_leaderboard(board: Leaderboard, page: str, when: str = "") -> None:
    """Print the methods' means, and the letters of the methods that each surpasses."""
    if not board.scored:
        say(f"There is nothing to score: no query of {board.benchmark} has a relevant code.")
        return
    print_table(
        f"{board.benchmark}{when}: {board.scored:,} queries, {board.codes:,} codes",
        ["   method", *board.metrics, "judged@10"],
        [_cells(row, board.metrics) for row in board.rows],
        rest=page,
        note=_NOTE,
    )


def _cells(row: MethodRow, metrics: tuple[str, ...]) -> list[str]:
    cells = [row.cells[name] for name in metrics]
    figures = [f"{cell.mean:.3f} {cell.surpasses.replace(' ', '')}".strip() for cell in cells]
    return [f"{row.letter:<2} {row.method}", *figures, f"{row.judged:.3f}"]


def diff(options: DiffOptions) -> None:
    """Run the flow that compares two versions; print what changed and the page's path."""
    with prefect_api():
        written = diff_flow(options.before, options.after, options.settings)
    page = str(written.folder / "difference.md")
    print_difference(written.change)
    if written.score_changes.methods:
        print_score_changes(written.score_changes, page)
    elif options.settings.evaluation.methods:
        say("There is nothing to score: no query has a relevant code in both versions.")
    say(f"difference: {page}")


def print_difference(change: Difference) -> None:
    """Print how much of a benchmark changed, the first turned labels, and the recipe's changes."""
    table, labels = counted(change)
    print_block(table, rest="a wider terminal", note=labels)
    print_blocks(turned(change, _FLIPS))
    parts = [_recipe_change(part, *values) for part, values in change.recipe.items()]
    say(f"recipe: {', '.join(parts) or 'the same'}")


def print_score_changes(changes: ScoreChanges, page: str) -> None:
    """Print each method's means in both versions and how they changed."""
    print_block(
        score_changes_table(changes),
        title="scores before and after",
        rest=page,
        note="change and p: over the queries that both versions score",
    )


def _recipe_change(part: str, old: object, new: object) -> str:
    plain = isinstance(old, str | int | float) and isinstance(new, str | int | float)
    return f"{part} ({old} → {new})" if plain else part
