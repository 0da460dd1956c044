"""What ``cosqa study`` does: run the flow, print our figures beside the published ones."""

import textwrap
from importlib import import_module

from flows.cli.console import say, terminal_width
from flows.cli.study_options import StudyOptions
from flows.cli.tables import print_block
from flows.runtime.prefect_server import prefect_api
from tasks.reports.study import (
    StudyReport,
    StudySection,
    computed_notes,
    computed_table,
    conditions_table,
)
from tasks.stages.study.evidence import StudyFiles
from tasks.stages.study.report import FIGURES, PAGE, read_report


def study(options: StudyOptions) -> None:
    """Run the study's flow; print each table that was computed, and why others were not."""
    files = StudyFiles(
        annotators=options.annotators,
        annotation_store=options.annotation_store,
        score_sheet=options.score_sheet,
    )
    with prefect_api(meanwhile=lambda: import_module("flows.study")):
        written = import_module("flows.study").study(options.settings, files)
    print_report(read_report(written.folder), str(written.folder / PAGE))
    say(f"all figures as a table: {written.folder / FIGURES}")
    say(f"study: {written.folder / PAGE}")


def print_report(report: StudyReport, page: str) -> None:
    """Print the tables that were computed, then what was not, and why."""
    about = "Conditions of this run and of the papers"
    print_block(conditions_table(report), title=about, rest=page)
    for section in report.sections:
        if not section.problem:
            note = "\n".join(computed_notes(section))
            print_block(computed_table(section), rest=page, note=note)
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
