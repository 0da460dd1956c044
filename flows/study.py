"""The study flow: the papers' tables and figures, computed for one's own benchmark."""

from dataclasses import replace
from pathlib import Path

from prefect import flow

from flows.evaluate import score_methods
from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, results_of, run_name
from tasks.stages.preflight import check_inputs, collected_source
from tasks.stages.scoring import OpenBenchmark
from tasks.stages.study.overlap import overlaps_of
from tasks.stages.study.report import (
    Studied,
    StudyFiles,
    studied_benchmark,
    with_study_metrics,
    write_study,
)


@flow(name="study", flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
def study(settings: FlowSettings = None, files: StudyFiles | None = None) -> Path:
    """Compute every table and figure that store, benchmark and files allow.

    It writes the report, and returns its folder.

    Args:
        settings: The settings; None reads them from file and environment.
        files: Further files that figures are computed from.
    """
    ready = check_inputs(settings)
    database, scoring = ready.database, ready.settings.scoring
    scoring = replace(scoring, evaluation=with_study_metrics(scoring.evaluation))
    source = collected_source(ready)
    published = studied_benchmark(database, source, scoring.publish)
    scored = score_methods(database, OpenBenchmark(published), scoring) if published else []
    results_of(scored)
    overlaps, compared = overlaps_of(database, source, scoring.search)
    return write_study(
        database, Studied(source, published, overlaps), files or StudyFiles(), scoring,
        ready.settings.annotation.draw, wait_for=[*scored, *compared],
    )  # fmt: skip
