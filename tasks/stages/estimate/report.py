"""The report of estimates: page, tables, and figures as JSON."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from prefect.logging import get_run_logger

from infra.identity import digest
from infra.settings import PublishSettings
from tasks.benchmarks.benchmark import fit_name
from tasks.estimation.unlabelled import MethodEstimate
from tasks.reports.estimation import EstimationReport, estimation_document
from tasks.runtime.caching import stage
from tasks.runtime.pages import write_pages
from tasks.runtime.run_events import artifact_key
from tasks.stages.estimate.inputs import EstimationInput

PAGE, FIGURES = "estimate.html", "estimate.json"


@stage("write-estimate", "report on the estimates for {inputs.name}")
def write_estimate(
    inputs: EstimationInput, estimates: Sequence[MethodEstimate], settings: PublishSettings
) -> Path:
    """Write page, Markdown and JSON; return their folder.

    Args:
        inputs: Queries and training pairs.
        estimates: The methods' scores.
        settings: The output folder.
    """
    report = EstimationReport(
        title=inputs.queries.name,
        training=inputs.training.name,
        generated_at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        estimates=tuple(estimates),
        notes=tuple(inputs.notes),
    )
    # Other texts, methods or options have another folder: no command shows what another one,
    # which runs at the same time, has written.
    made = digest(inputs.identity, *(each.model_dump_json() for each in estimates))
    name = f"{fit_name(inputs.name, 'queries')[:80]}-{made[:8]}"
    folder = settings.folder.resolve() / "estimates" / name
    figures = {FIGURES: report.model_dump_json(indent=1) + "\n"}
    key, document = artifact_key("estimate", inputs.name), estimation_document(report)
    write_pages(folder, "estimate", document, figures, key=key, about=report.title)
    get_run_logger().info("estimate: %s", folder / PAGE)
    return folder


def read_report(folder: Path) -> EstimationReport:
    """Return a written report."""
    text = (folder / FIGURES).read_text(encoding="utf-8")
    return EstimationReport.model_validate_json(text)
