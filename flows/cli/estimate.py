"""What ``cosqa estimate`` does: run the flow, print estimates, comparison and plan."""

from importlib import import_module

from flows.cli.console import say
from flows.cli.estimate_options import EstimateOptions
from flows.cli.tables import print_block
from flows.runtime.prefect_server import prefect_api
from infra.errors import EstimationError
from tasks.reports.estimation import (
    EstimationReport,
    comparison_sentences,
    comparison_table,
    estimate_table,
    notes,
    order_table,
    plan_sentence,
    plan_table,
    refusal,
)
from tasks.stages.estimate.report import PAGE, SAMPLE, TO_LABEL, WrittenEstimate, read_report


def estimate(options: EstimateOptions) -> None:
    """Run the estimate's flow; print its tables, the queries to label and the page's path.

    Raises:
        EstimationError: A method has no estimate, since its queries lie too far from the training
            queries; everything is printed and written before.
    """
    with prefect_api(meanwhile=lambda: import_module("flows.estimate")):
        written = import_module("flows.estimate").estimate(
            options.train, options.queries, options.judged, options.settings
        )
    print_report(read_report(written.folder), str(written.folder / PAGE))
    print_files(written)
    if written.refused:
        raise EstimationError(
            f"{', '.join(written.refused)}: no estimate, since the queries lie too far from the "
            "training queries: take pairs that are nearer as --train, give a benchmark of the "
            f"queries of {TO_LABEL} as --judged, or take the estimate with --anyway"
        )


def print_report(report: EstimationReport, page: str) -> None:
    """Print estimates, the comparison of several methods, the plan, and what a reader must know."""
    first = report.estimates[0]
    about = f"{report.title}: {first.queries:,} queries, {first.training:,} training pairs"
    print_block(estimate_table(report), title=f"{about} of {report.training}", rest=page)
    if report.comparison:
        print_block(order_table(report), title="order of methods", rest=page)
        print_block(comparison_table(report), title="differences of methods", rest=page)
    print_block(plan_table(report), title="queries to label", rest=page)
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
    say(f"estimate: {written.folder / PAGE}")
