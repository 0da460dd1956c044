"""What ``cosqa study kape`` does: run the flow, print what was found."""

from importlib import import_module

from flows.cli.console import say
from flows.cli.kape_options import KapeOptions
from flows.cli.tables import print_block
from flows.runtime.prefect_server import prefect_api
from tasks.reports.kape import KapeReport, terminal_tables
from tasks.stages.study.kape_report import FIGURES, PAGE, read_kape_report


def study_kape(options: KapeOptions) -> None:
    """Run the study's flow; print its tables."""
    with prefect_api(meanwhile=lambda: import_module("flows.study_kape")):
        written = import_module("flows.study_kape").study_kape(options.data, options.settings)
    print_kape(read_kape_report(written.folder), str(written.folder / PAGE))
    say(f"all figures as a table: {written.folder / FIGURES}")
    say(f"study: {written.folder / PAGE}")


def print_kape(report: KapeReport, page: str) -> None:
    """Print the tables that fit a terminal; the page has the others, and the figures."""
    for table in terminal_tables(report):
        print_block(table, rest=page)
