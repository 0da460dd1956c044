"""The report of a study: our figures beside the published ones, as page, Markdown and table."""

from tasks.reports.study.build import Line, StudyReport, StudySection, build_report
from tasks.reports.study.html import render_study
from tasks.reports.study.tables import (
    condition_rows,
    figures_table,
    study_markdown,
    study_rows,
)

__all__ = [
    "Line",
    "StudyReport",
    "StudySection",
    "build_report",
    "condition_rows",
    "figures_table",
    "render_study",
    "study_markdown",
    "study_rows",
]
