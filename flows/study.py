"""The flows of the papers' studies, computed for one's own benchmark and data."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from prefect import flow

from flows.evaluate import score_methods
from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, results_of, run_name
from infra.settings import Configuration
from tasks.stages.candidates import overlaps_of
from tasks.stages.compare_annotators import JudgedTruth, judge_truth
from tasks.stages.preflight import check_annotators, check_inputs, collected_source
from tasks.stages.scoring import OpenBenchmark
from tasks.stages.study.kape import open_data, study_method, write_kape_report
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


@flow(name="study-kape", flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
def study_kape(data: dict[str, Path], settings: FlowSettings = None) -> Path:
    """Compute what KAPE's Tables 1 to 7 hold, for each encoder on each data set.

    It writes the report, and returns its folder.

    Args:
        data: Name of a data set → folder with pairs to train (train, train.jsonl), to test by, and
            maybe to validate by (valid), as jsonl of query and code or as CodeSearchNet's files.
        settings: The settings, of which search.encoders are studied; None reads them from file and
            environment.
    """
    ready = check_inputs(settings, partial(open_data, data=data))
    encoder, ray = ready.settings.encoder, ready.settings.ray
    studied = [
        study_method.submit(ready.database, each, method, encoder, ray)
        for each in ready.opened
        for method in ready.settings.search.encoders
    ]
    return write_kape_report(results_of(studied), ready.settings.publish, wait_for=studied)


@flow(name="compare-annotators", flow_run_name=run_name)
def compare_annotators(
    truth: Path,
    models: Sequence[str],
    configurations: Sequence[Configuration],
    settings: FlowSettings = None,
    *,
    limit: int | None = None,
) -> list[JudgedTruth]:
    """Judge pairs with known labels by every model in every configuration of the agents.

    Args:
        truth: File of the pairs, as JSON Lines or as CoSQA publishes its own.
        models: The models' names for litellm; none takes the one of the settings.
        configurations: The configurations of the agents.
        settings: All other settings; None reads them from file and environment.
        limit: Number of pairs to judge, drawn at random by ``annotation.seed``; None takes all.
    """
    ready = check_inputs(settings, lambda _: None)
    store = ready.settings.store
    annotators = check_annotators(ready, models, configurations)
    return [judge_truth(truth, limit, recipe, committee, store) for committee, recipe in annotators]
