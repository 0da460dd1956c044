"""Output of the commands that measure: tables, and where the pages are."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from flows.cli.output import print_block, print_blocks, print_table, say, terminal_width
from flows.cli.pipeline import print_run_plan
from tasks.reports.circularity import circularity_notes, flags_table
from tasks.reports.corrected import CorrectedScores, corrected_figures
from tasks.reports.diff import (
    Difference,
    ScoreChange,
    change_summary,
    score_changes_table,
    turned,
)
from tasks.reports.estimation import estimate_table
from tasks.reports.kape import summary_table
from tasks.reports.leaderboard import Leaderboard as Board
from tasks.reports.leaderboard import MethodRow, scored_over, timed_methods
from tasks.reports.plan import RunPlan
from tasks.reports.repair import CHANGES, places_table, repair_summary
from tasks.reports.speed import speed_table
from tasks.reports.text import counted
from tasks.reports.training import gains_table
from tasks.reports.training_study import study_tables
from tasks.stages.diff import WrittenDifference
from tasks.stages.estimate import PAGE as ESTIMATE_PAGE
from tasks.stages.estimate import read_report as read_estimate
from tasks.stages.leaderboard import WrittenLeaderboard
from tasks.stages.repair import PAGE as REPAIR_PAGE
from tasks.stages.repair import WrittenRepair
from tasks.stages.study.kape import PAGE as KAPE_PAGE
from tasks.stages.study.kape import read_kape_report
from tasks.stages.study.report import PAGE as STUDY_PAGE
from tasks.stages.study.report import read_report as read_study
from tasks.stages.study.training import read_training_study
from tasks.stages.train import WrittenTraining, read_training

_FLIPS = 5
_NOTE = "letters: methods that score significantly lower (p < 0.05 after Holm's correction)"


def print_leaderboards(written: WrittenLeaderboard) -> None:
    """Print the tables of a leaderboard, the unjudged count and the page's path."""
    page = str(written.folder / "leaderboard.html")
    print_leaderboard(written.before, page)
    board = written.before
    if any(row.speed and row.speed.megabytes for row in board.rows):  # else only words are ranked
        print_block(speed_table(board.metrics[0], timed_methods(board)), rest=page)
    if written.after:
        print_leaderboard(written.after, page, ", with unjudged results judged")
    if written.corrected:
        print_corrected(written.corrected, page)
    if found := written.before.circularity:
        if found.flags:
            print_block(flags_table(found), rest=page)
        for note in circularity_notes(found):
            say(note)
    say(f"among the first 10, never judged: {counted(written.unjudged, 'results')}")
    say(f"leaderboard: {page}")


def print_leaderboard(board: Board, page: str, when: str = "") -> None:
    """Print the methods' means, and the letters of the methods that each surpasses."""
    if not board.scored:
        say(f"There is nothing to score: no query of {board.benchmark} has a match.")
        return
    print_table(
        f"{board.benchmark}{when}: {scored_over(board.scored, board.queries)}, "
        f"{counted(board.codes, 'codes')}",
        [
            *("   method", *board.metrics, "judged@10"),
            *(["above mutants"] if any(row.mutants for row in board.rows) else []),
        ],
        [_cells(row, board.metrics) for row in board.rows],
        rest=page,
        note=_NOTE,
    )


def print_corrected(corrected: CorrectedScores, page: str) -> None:
    """Print the figures that people's labels of random samples correct, with their intervals."""
    queries = counted(corrected.sampled_queries, "queries")
    pairs = counted(corrected.sampled_pairs, "pairs")
    say(f"Corrected by people's labels of {queries} and {pairs} sampled at random:", style="bold")
    for figure in corrected_figures(corrected):
        print_block(figure.table, rest=page)


def _cells(row: MethodRow, metrics: tuple[str, ...]) -> list[str]:
    cells = [row.cells[name] for name in metrics]
    figures = [f"{cell.mean:.3f} {cell.surpasses.replace(' ', '')}".strip() for cell in cells]
    if row.mutants:
        shares = [f"{row.judged:.3f}", f"{row.mutants.mean:.3f}"]
    else:
        shares = [f"{row.judged:.3f}"]
    return [f"{row.letter:<2} {row.method}", *figures, *shares]


def print_versions(written: WrittenDifference, *, is_scored: bool) -> None:
    """Print what changed between two versions of a benchmark, and the page's path."""
    page = str(written.folder / "difference.md")
    print_difference(written.change)
    if written.score_changes:
        print_score_changes(written.score_changes, page)
    elif is_scored:
        say("There is nothing to score: no query has a match in both versions.")
    say(f"difference: {page}")


def print_difference(change: Difference) -> None:
    """Print how much of a benchmark changed, the first turned labels, and the recipe's changes."""
    table, labels = change_summary(change)
    print_block(table, rest="a wider terminal", note=labels)
    print_blocks(turned(change, _FLIPS))
    parts = [_recipe_change(part, *values) for part, values in change.recipe.items()]
    say(f"settings: {', '.join(parts) or 'the same'}")


def print_repair(done: WrittenRepair | RunPlan) -> None:
    """Print a repair's figures and where its files are; of a plan, what it is expected to take."""
    if isinstance(done, RunPlan):
        print_run_plan(done)
        return
    page = str(done.folder / f"{REPAIR_PAGE}.html")
    for name, value in repair_summary(done.figures).items():
        say(f"{name}: {value}")
    print_block(places_table(done.figures), rest=page)
    say(f"next version: {done.version}")
    say(f"labels that changed: {done.folder / CHANGES}")
    say(f"for the maintainers: {done.folder / 'maintainers.md'}")
    say(f"repair: {page}")


def print_score_changes(changes: Sequence[ScoreChange], page: str) -> None:
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


def print_estimate(folder: Path) -> None:
    """Print estimates, what a reader must know, and the page's path."""
    report, page = read_estimate(folder), str(folder / ESTIMATE_PAGE)
    first = report.estimates[0]
    queries, pairs = counted(first.queries, "queries"), counted(first.training, "training pairs")
    about = f"{report.title}: {queries}, {pairs}"
    print_block(estimate_table(report), title=f"{about} of {report.training}", rest=page)
    for sentence in report.notes:
        say(f"note: {sentence}")
    say(f"estimate: {page}")


def print_training(written: WrittenTraining) -> None:
    """Print what was gained by training, and how to use the encoder."""
    report = read_training(written.encoder.folder)
    print_block(gains_table(report), title=f"{report.name}: test queries", rest=str(written.page))
    say(f"encoder: {written.encoder.reference}")
    say(f"leaderboard: {written.leaderboard}")
    say(f"training: {written.page}")


def print_study(folder: Path) -> None:
    """Print which tables were computed, then which were not, and why."""
    report = read_study(folder)
    say("computed:", style="bold")
    for section in report.sections:
        if not section.problem:
            say(f"  {section.title}")
    say("not computed:", style="bold")
    for section in report.sections:
        if section.problem:
            command = "" if section.command in section.problem else f" ({section.command})"
            text = f"{section.title}: {section.problem}{command}"
            say(textwrap.fill(text, terminal_width(), initial_indent="  ",
                              subsequent_indent="    ", break_on_hyphens=False))  # fmt: skip
    say(f"study: {folder / STUDY_PAGE}")


def print_kape(folder: Path) -> None:
    """Print the summary of truth and estimates; the page has all of them."""
    page = folder / KAPE_PAGE
    print_block(summary_table(read_kape_report(folder)), rest=str(page))
    say(f"study: {page}")


def print_training_study(folder: Path) -> None:
    """Print the tables of a training study."""
    page = str(folder / STUDY_PAGE)
    for table in study_tables(read_training_study(folder)):
        print_block(table, rest=page)
    say(f"study: {page}")
