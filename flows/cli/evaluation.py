"""Output of the commands that measure: the first parts of their pages, and where these are."""

from pathlib import Path

from flows.cli.output import print_document, say
from tasks.reports.diff import difference_document
from tasks.reports.estimation import estimation_document
from tasks.reports.leaderboard_page import leaderboard_document
from tasks.reports.study import study_document
from tasks.stages.diff import WrittenDifference
from tasks.stages.estimate import PAGE as ESTIMATE_PAGE
from tasks.stages.estimate import read_report as read_estimate
from tasks.stages.leaderboard import WrittenLeaderboard
from tasks.stages.study.report import PAGE as STUDY_PAGE
from tasks.stages.study.report import read_report as read_study


def print_leaderboard(written: WrittenLeaderboard) -> None:
    """Print the methods' means, and what they rest on."""
    document = leaderboard_document(
        written.before, written.unjudged, written.after, written.corrected
    )
    parts = ("table", "speed", "people", "circularity", "unjudged")
    print_document(document, written.folder / "leaderboard.html", parts=parts)


def print_difference(written: WrittenDifference, *, is_scored: bool) -> None:
    """Print what changed between two versions of a benchmark."""
    if is_scored and not written.score_changes:
        say("There is nothing to score: no query has a match in both versions.")
    document = difference_document(written.change, written.score_changes)
    print_document(document, written.folder / "difference.md")


def print_estimate(folder: Path) -> None:
    """Print estimates, and what a reader must know."""
    print_document(estimation_document(read_estimate(folder)), folder / ESTIMATE_PAGE)


def print_study(folder: Path) -> None:
    """Print the figures that papers print too, and which tables were not computed, and why."""
    document = study_document(read_study(folder))
    print_document(document, folder / STUDY_PAGE, parts=("summary", "left-out"))
