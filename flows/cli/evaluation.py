"""What the commands do that measure: run a flow, print its tables and where its pages are."""

import textwrap

from flows.cli.output import print_table, say, terminal_width
from flows.options import Diff, Estimate, Leaderboard, Study, StudyKape
from flows.runtime.prefect_server import flow_result
from infra.errors import EstimationError
from tasks.reports.diff import Difference, Flip, ScoreChanges, describe_evidence
from tasks.reports.estimation import (
    EstimationReport,
    comparison_rows,
    comparison_sentences,
    estimate_rows,
    notes,
    order_rows,
    plan_rows,
    plan_sentence,
    refusal,
)
from tasks.reports.kape import KapeReport, terminal_tables
from tasks.reports.leaderboard import Leaderboard as Board
from tasks.reports.leaderboard import MethodRow
from tasks.reports.study import StudyReport, StudySection, condition_rows, study_rows
from tasks.stages.estimate.report import PAGE as ESTIMATE_PAGE
from tasks.stages.estimate.report import SAMPLE, TO_LABEL, WrittenEstimate
from tasks.stages.estimate.report import read_report as read_estimate
from tasks.stages.preflight import check_scoring, needs_server
from tasks.stages.study.evidence import StudyFiles
from tasks.stages.study.kape_report import FIGURES as KAPE_FIGURES
from tasks.stages.study.kape_report import PAGE as KAPE_PAGE
from tasks.stages.study.kape_report import read_kape_report
from tasks.stages.study.report import FIGURES as STUDY_FIGURES
from tasks.stages.study.report import PAGE as STUDY_PAGE
from tasks.stages.study.report import read_report as read_study

_FLIPS = 5
_NOTE = "letters: methods that score significantly lower (p < 0.05 after Holm's correction)"


def leaderboard(options: Leaderboard) -> None:
    """Run the leaderboard's flow; print its tables, the unjudged count and the page's path."""
    if not needs_server(options.settings):
        check_scoring(options.settings)
    written = flow_result("leaderboard", options)
    page = str(written.folder / "leaderboard.html")
    print_leaderboard(written.before, page)
    if written.after:
        print_leaderboard(written.after, page, ", with unjudged results judged")
    say(f"{written.unjudged:,} results among the first 10 were never judged")
    say(f"leaderboard: {page}")


def print_leaderboard(board: Board, page: str, when: str = "") -> None:
    """Print the methods' means, and the letters of the methods that each surpasses."""
    if not board.scored:
        say(f"There is nothing to score: no query of {board.benchmark} has a relevant code.")
        return
    demo = ", labels by the demo model" if board.demo else ""
    print_table(
        f"{board.benchmark}{demo}{when}: {board.scored:,} queries, {board.codes:,} codes",
        ["   method", *board.metrics, "judged@10"],
        [_cells(row, board.metrics) for row in board.rows],
        rest=page,
        note=_NOTE,
    )


def _cells(row: MethodRow, metrics: tuple[str, ...]) -> list[str]:
    cells = [row.cells[name] for name in metrics]
    figures = [f"{cell.mean:.3f} {cell.surpasses.replace(' ', '')}".strip() for cell in cells]
    return [f"{row.letter:<2} {row.method}", *figures, f"{row.judged:.3f}"]


def diff(options: Diff) -> None:
    """Run the flow that compares two versions; print what changed and the page's path."""
    written = flow_result("diff", options)
    page = str(written.folder / "difference.md")
    print_difference(written.change)
    if written.score_changes.methods:
        print_score_changes(written.score_changes, page)
    elif options.settings.evaluation.methods:
        say("There is nothing to score: no query has a relevant code in both versions.")
    say(f"difference: {page}")


def print_difference(change: Difference) -> None:
    """Print how much of a benchmark changed, the first turned labels, and the recipe's changes."""
    for what, added, removed in (
        ("queries", change.queries_added, change.queries_removed),
        ("codes", change.codes_added, change.codes_removed),
        ("labelled pairs", change.pairs_added, change.pairs_removed),
    ):
        say(f"{what}: {len(added):,} added, {len(removed):,} removed")
    before, after = change.relevant
    say(
        f"labels: {len(change.flips):,} turned, {change.kept:,} kept, "
        f"{len(change.now_undecided):,} now undecided; {before:,} relevant before, {after:,} after"
    )
    for flip in change.flips[:_FLIPS]:
        _print_flip(flip)
    if len(change.flips) > _FLIPS:
        say(f"  ... {len(change.flips) - _FLIPS:,} more turned")
    parts = [_recipe_change(part, *values) for part, values in change.recipe.items()]
    say(f"recipe: {', '.join(parts) or 'the same'}")


def print_score_changes(changes: ScoreChanges, page: str) -> None:
    """Print each method's means in both versions and how they changed."""
    rows = []
    for row in changes.methods:
        means = (f"{row.before:.3f}", f"{row.after:.3f}", f"{row.shared:+.3f}")
        rows.append([row.method, row.metric, *means, f"{row.p_value:.3f}", f"{row.queries:,}"])
    header = ["method", "metric", "before", "after", "change", "p", "shared queries"]
    note = "change and p: over the queries that both versions score"
    print_table("scores before and after", header, rows, rest=page, note=note)


def _recipe_change(part: str, old: object, new: object) -> str:
    plain = isinstance(old, str | int | float) and isinstance(new, str | int | float)
    return f"{part} ({old} → {new})" if plain else part


def _print_flip(flip: Flip) -> None:
    header = next((line for line in flip.code.splitlines() if "def " in line), flip.code_id)
    say(f"  {flip.before:g} → {flip.after:g}  {flip.query}")
    say(f"         code: {header.strip()}")
    say(f"         before: {describe_evidence(flip.evidence_before)}")
    say(f"         after: {describe_evidence(flip.evidence_after)}")


def estimate(options: Estimate) -> None:
    """Run the estimate's flow; print its tables, the queries to label and the page's path.

    Raises:
        EstimationError: A method has no estimate, since its queries lie too far from the training
            queries; everything is printed and written before.
    """
    written = flow_result("estimate", options)
    print_estimate(read_estimate(written.folder), str(written.folder / ESTIMATE_PAGE))
    print_files(written)
    if written.refused:
        raise EstimationError(
            f"{', '.join(written.refused)}: no estimate, since the queries lie too far from the "
            "training queries: take pairs that are nearer as --train, give a benchmark of the "
            f"queries of {TO_LABEL} as --judged, or take the estimate with --anyway"
        )


def print_estimate(report: EstimationReport, page: str) -> None:
    """Print estimates, the comparison of several methods, the plan, and what a reader must know."""
    first = report.estimates[0]
    about = f"{report.title}: {first.queries:,} queries, {first.training:,} training pairs"
    print_table(f"{about} of {report.training}", *estimate_rows(report), rest=page)
    if report.comparison:
        print_table("order of methods", *order_rows(report), rest=page)
        print_table("differences of methods", *comparison_rows(report), rest=page)
    print_table("queries to label", *plan_rows(report), rest=page)
    for each in report.estimates:
        say(f"{each.method}: {plan_sentence(each, report.price)}")
    sentences = [*comparison_sentences(report), *map(refusal, report.estimates), *notes(report)]
    for sentence in filter(None, sentences):
        say(f"note: {sentence}")


def print_files(written: WrittenEstimate) -> None:
    """Print where the queries to label and the page are."""
    if written.to_label:
        say(f"queries to label next, in random order: {written.folder / TO_LABEL}")
    if (written.folder / SAMPLE).exists():
        say(f"the same with those that are judged: {written.folder / SAMPLE}")
    say(f"estimate: {written.folder / ESTIMATE_PAGE}")


def study(options: Study) -> None:
    """Run the study's flow; print each table that was computed, and why others were not."""
    files = StudyFiles(
        annotators=options.annotators,
        annotation_store=options.annotation_store,
        score_sheet=options.score_sheet,
    )
    written = flow_result("study", options, files=files)
    print_study(read_study(written.folder), str(written.folder / STUDY_PAGE))
    say(f"all figures as a table: {written.folder / STUDY_FIGURES}")
    say(f"study: {written.folder / STUDY_PAGE}")


def print_study(report: StudyReport, page: str) -> None:
    """Print the tables that were computed, then what was not, and why."""
    if report.demo:
        say("The labels are the demo model's: no figure that rests on them is meaningful.")
    header, conditions = condition_rows(report)
    print_table("Conditions of this run and of the papers", header, conditions, rest=page)
    for section in report.sections:
        if not section.problem:
            _print_section(section, page)
    say("not computed:", style="bold")
    for section in report.sections:
        if section.problem:
            _print_problem(section)
    say("")


def _print_problem(section: StudySection) -> None:
    command = "" if section.command in section.problem else f" ({section.command})"
    lines = textwrap.wrap(
        f"{section.title}: {section.problem}{command}",
        terminal_width(),
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )
    say("\n".join(lines))


def _print_section(section: StudySection, page: str) -> None:
    header, rows, notes = study_rows(section)
    print_table(section.title, header, rows, rest=page, note="\n".join(notes))


def study_kape(options: StudyKape) -> None:
    """Run the study's flow; print its tables."""
    written = flow_result("study_kape", options)
    print_kape(read_kape_report(written.folder), str(written.folder / KAPE_PAGE))
    say(f"all figures as a table: {written.folder / KAPE_FIGURES}")
    say(f"study: {written.folder / KAPE_PAGE}")


def print_kape(report: KapeReport, page: str) -> None:
    """Print the tables that fit a terminal; the page has the others, and the figures."""
    for table in terminal_tables(report):
        print_table(table.caption, table.header, table.rows, rest=page)
