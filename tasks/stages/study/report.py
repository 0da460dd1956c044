"""The task that writes a study: page, Markdown, and all figures as JSON."""

from datetime import UTC, datetime
from pathlib import Path

from infra.settings import EvaluationSettings, PublishSettings, ScoringSettings
from infra.store import Database
from infra.store.benchmarks import Published
from infra.subsets import Draw
from tasks.benchmarks import verify_export
from tasks.reports.study import StudyReport, build_report, study_document
from tasks.runtime.artifacts import artifact_key, write_pages
from tasks.runtime.caching import stage
from tasks.runtime.references import CollectedSource
from tasks.runtime.run_logger import get_run_logger
from tasks.stages.labels import label_sets
from tasks.stages.publish import published_benchmarks
from tasks.stages.study.evidence import Studied, StudyFiles, gather_evidence
from tasks.studies.benchmark import BY_MATCHES
from tasks.studies.benchmark import METRICS as OF_METHODS

PAGE, REPORT = "study.html", "study.json"


def studied_benchmark(
    database: Database, source: CollectedSource, settings: PublishSettings
) -> Published | None:
    """Return the published benchmark under study: the agents', else the source's own first one."""
    labels = label_sets(database, source)
    own = [item for item in labels if item.collection == source.main]
    ordered = sorted(own, key=lambda item: item.current is None) or labels
    published = published_benchmarks(ordered, settings)
    if not published:
        return None
    verify_export(Path(published[0].folder))
    return published[0]


def with_study_metrics(evaluation: EvaluationSettings) -> EvaluationSettings:
    """Return the settings with the metrics that studies need, too."""
    names = dict.fromkeys([*evaluation.metrics, *OF_METHODS, *BY_MATCHES])
    return evaluation.model_copy(update={"metrics": tuple(names)})


@stage("study", "report the study of {studied.source.main.name}")
def write_study(
    database: Database, studied: Studied, files: StudyFiles, settings: ScoringSettings, draw: Draw
) -> Path:
    """Compute the figures, and write them with the published ones; return their folder.

    It has the page, the Markdown, and all figures as JSON.
    """
    evidence = gather_evidence(database, studied, files, settings, draw)
    source = studied.source
    title = f"{source.main.name}: the papers' tables and figures"
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    report = build_report(evidence, title, now)
    folder = settings.publish.folder.resolve() / "studies" / source.main.name
    written = {REPORT: report.model_dump_json(indent=1)}
    key = artifact_key("study", source.main.name)
    write_pages(folder, "study", study_document(report), written, key=key, about=title)
    get_run_logger().info("study: %s", folder / PAGE)
    return folder


def read_report(folder: Path) -> StudyReport:
    """Return the report that `write_study` wrote into a folder."""
    return StudyReport.model_validate_json((folder / REPORT).read_text("utf-8"))
