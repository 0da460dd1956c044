"""The report of estimates: page, tables, and figures as JSON."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.logging import get_run_logger

from infra.disk import OTHER_OUTPUT, space_on
from infra.identity import digest
from infra.markdown import markdown_text
from infra.settings import PublishSettings
from infra.store import Database
from tasks.benchmarks.benchmark import fit_name
from tasks.benchmarks.folder import atomic_folder
from tasks.estimation.comparison import compare_methods
from tasks.estimation.records import MethodComparison, MethodEstimate
from tasks.reports.estimation import (
    EstimationReport,
    estimate_table,
    estimation_document,
)
from tasks.reports.render import html_page, markdown_page
from tasks.reports.text import visible
from tasks.runtime.caching import stage
from tasks.stages.estimate.inputs import EstimationInput
from tasks.stages.estimate.judged import JudgedQueries
from tasks.stages.estimate.scores import load_estimate
from tasks.stages.scoring import OpenBenchmark

PAGE, TABLES, FIGURES = "estimate.html", "estimate.md", "estimate.json"
_FILES = (PAGE, TABLES, FIGURES)
_LONGEST = 400


@stage("write-estimate", "report on the estimates for {inputs.name}")
def write_estimate(
    database: Database,
    inputs: EstimationInput,
    identities: Sequence[str],
    settings: PublishSettings,
    benchmark: OpenBenchmark | None = None,
) -> Path:
    """Write page, Markdown and JSON; return their folder, which is replaced as a whole.

    Args:
        database: The store.
        inputs: Queries and training pairs.
        identities: The methods' stored estimates.
        settings: The output folder.
        benchmark: The benchmark of the judged queries.

    Raises:
        DiskFullError: The disk is full; an older report is as it was.
        PublishError: The folder has other files.
    """
    judged = JudgedQueries(benchmark, inputs.queries) if benchmark else None
    estimates = [load_estimate(database, identity) for identity in identities]
    report = _report(estimates, inputs, judged)
    document = estimation_document(report)
    text = markdown_page(document)
    # Other texts, methods, labels or options have another folder: no command shows what another
    # one, which runs at the same time, has written.
    name = f"{fit_name(inputs.name, 'queries')[:80]}-{digest(*identities)[:8]}"
    folder = settings.folder.resolve() / "estimates" / name
    with space_on(folder, OTHER_OUTPUT), atomic_folder(folder, lambda _: _FILES) as partial:
        (partial / PAGE).write_text(html_page(document), encoding="utf-8")
        (partial / TABLES).write_text(text, encoding="utf-8")
        (partial / FIGURES).write_text(report.model_dump_json(indent=1) + "\n", encoding="utf-8")
    _add_artifacts(report, text)
    get_run_logger().info("estimate: %s", folder / PAGE)
    return folder


def read_report(folder: Path) -> EstimationReport:
    """Return a written report."""
    text = (folder / FIGURES).read_text(encoding="utf-8")
    return EstimationReport.model_validate_json(text)


def _report(
    estimates: Sequence[MethodEstimate],
    inputs: EstimationInput,
    judged: JudgedQueries | None,
) -> EstimationReport:
    notes = [*inputs.notes(judged=judged is not None), *(judged.notes if judged else ())]
    return EstimationReport(
        title=inputs.queries.name,
        training=inputs.training.name,
        generated_at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        estimates=tuple(estimates),
        comparison=_comparison(estimates, judged),
        notes=tuple(notes),
    )


def _comparison(
    estimates: Sequence[MethodEstimate], judged: JudgedQueries | None
) -> MethodComparison | None:
    if len(estimates) < 2:
        return None
    truth = {}
    for each in estimates if judged and judged.is_all else ():
        values = next(iter(each.judged.true.values()), ()) if each.judged else ()
        truth[each.method] = sum(values) / len(values)
    return compare_methods(estimates, truth)


def _add_artifacts(report: EstimationReport, text: str) -> None:
    table = estimate_table(report)
    title = markdown_text(visible(report.title, _LONGEST))
    create_table_artifact(
        [dict(zip(table.header, row, strict=True)) for row in table.rows],
        key="estimate",
        description=title,
    )
    create_markdown_artifact(text, key="estimate-report", description=title)
