"""The task that writes the report of the KAPE study: page, Markdown, and all figures as a table."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
from prefect.artifacts import create_markdown_artifact
from prefect.logging import get_run_logger

from infra.disk import OTHER_OUTPUT, space_on
from infra.identity import mark
from infra.records import Record
from infra.settings import PublishSettings
from infra.store import Database
from tasks.benchmarks.folder import atomic_folder
from tasks.reports.kape import (
    KapeReport,
    build_kape_report,
    kape_document,
)
from tasks.reports.kape_figures import figures_table
from tasks.reports.render import html_page, markdown_page
from tasks.runtime.caching import stage
from tasks.runtime.run_events import artifact_key
from tasks.stages.study.kape import StudyData, StudyReference, load_studied

PAGE, MARKDOWN, FIGURES, REPORT = "kape.html", "kape.md", "figures.parquet", "kape.json"
_FILES = (PAGE, MARKDOWN, FIGURES, REPORT)
_LONGEST = 120


class WrittenKapeStudy(Record):
    """Reference to a written report.

    Attributes:
        folder: With the page, the Markdown, the table of figures, and the report as JSON.
        studied: Number of methods on data sets.
    """

    folder: Path
    studied: int


@stage("kape-report", "report the study of KAPE")
def write_kape_report(
    database: Database,
    data: Sequence[StudyData],
    references: Sequence[StudyReference],
    settings: PublishSettings,
) -> WrittenKapeStudy:
    """Write the report on methods that were studied, beside the paper's figures.

    Args:
        database: The store, which has the figures.
        data: The data sets.
        references: Each method on each data set.
        settings: Where reports are written.
    """
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    report = build_kape_report(load_studied(database, data, references), now)
    folder = settings.folder.resolve() / "kape-studies" / folder_name(report.names)
    text = _write(report, folder)
    description = f"KAPE on {', '.join(report.names)}"
    key = artifact_key("study-kape", "-".join(report.names))
    create_markdown_artifact(text, key=key, description=description)
    for name in report.names:
        overlap = report.of(name)[0].data.overlap
        if overlap.queries:
            get_run_logger().warning(
                "%s: %d of %d test queries are training queries too, %d with the same code",
                name, overlap.queries, overlap.of, overlap.pairs,
            )  # fmt: skip
    get_run_logger().info("study: %s", folder / PAGE)
    return WrittenKapeStudy(folder=folder, studied=len(report.studied))


def folder_name(names: Sequence[str]) -> str:
    """Return the data sets' names, or the first and a digest where a file's name is too short."""
    joined = "+".join(names)
    return joined if len(joined) <= _LONGEST else f"{names[0]}+{len(names) - 1}-{mark(*names)}"


def _write(report: KapeReport, folder: Path) -> str:
    """Write all files, or none, in place of the whole folder; return the report as Markdown."""
    document = kape_document(report)
    text = markdown_page(document)
    with space_on(folder, OTHER_OUTPUT), atomic_folder(folder, lambda _: _FILES) as partial:
        (partial / PAGE).write_text(html_page(document), encoding="utf-8")
        (partial / MARKDOWN).write_text(text, encoding="utf-8")
        (partial / REPORT).write_text(report.model_dump_json(indent=1), encoding="utf-8")
        pq.write_table(figures_table(report), partial / FIGURES)
    return text


def read_kape_report(folder: Path) -> KapeReport:
    """Return the report that `write_kape_report` wrote into a folder."""
    return KapeReport.model_validate_json((folder / REPORT).read_text("utf-8"))
