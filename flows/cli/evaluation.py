"""Output of the commands that measure: the first parts of their pages, and where these are."""

from pathlib import Path

from flows.cli.output import print_document, say
from tasks.reports.diff import difference_document
from tasks.reports.estimation import estimation_document
from tasks.reports.kape import kape_document
from tasks.reports.leaderboard import leaderboard_document
from tasks.reports.plan import RunPlan, plan_document
from tasks.reports.repair import CHANGES, repair_document
from tasks.reports.study import study_document
from tasks.reports.training import training_document, training_study_document
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


def print_repair(done: WrittenRepair | RunPlan) -> None:
    """Print a repair's figures and where its files are; of a plan, what it is expected to take."""
    if isinstance(done, RunPlan):
        print_document(plan_document(done))
        return
    document = repair_document(done.figures, (), ())
    print_document(document, done.folder / f"{REPAIR_PAGE}.html", parts=("places",))
    say(f"next version: {done.version}")
    say(f"labels that changed: {done.folder / CHANGES}")
    say(f"for the maintainers: {done.folder / 'maintainers.md'}")


def print_estimate(folder: Path) -> None:
    """Print estimates, and what a reader must know."""
    print_document(estimation_document(read_estimate(folder)), folder / ESTIMATE_PAGE)


def print_training(written: WrittenTraining) -> None:
    """Print what was gained by training, and how to use the encoder."""
    report = read_training(written.encoder.folder)
    print_document(training_document(report), written.page, parts=("gain",))
    say(f"leaderboard: {written.leaderboard}")
    say(f"encoder: {written.encoder.reference}")


def print_study(folder: Path) -> None:
    """Print the figures that papers print too, and which tables were not computed, and why."""
    document = study_document(read_study(folder))
    print_document(document, folder / STUDY_PAGE, parts=("summary", "left-out"))


def print_kape(folder: Path) -> None:
    """Print the summary of truth and estimates."""
    document = kape_document(read_kape_report(folder))
    print_document(document, folder / KAPE_PAGE, parts=("summary",))


def print_training_study(folder: Path) -> None:
    """Print the tables of a training study."""
    print_document(training_study_document(read_training_study(folder)), folder / STUDY_PAGE)
