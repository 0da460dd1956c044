"""The task that writes the report of the study of trainings."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from infra.settings import PublishSettings, Settings
from tasks.benchmarks.benchmark import qrels_of
from tasks.reports.training import (
    AS_IT_IS,
    DEV,
    METRICS,
    PAIRS,
    Place,
    TrainingStudyReport,
    training_figures,
    training_study_document,
)
from tasks.runtime.caching import stage
from tasks.runtime.input_checks import check_training
from tasks.runtime.progress import artifact_key, write_pages
from tasks.stages.leaderboard import query_values, read_rankings
from tasks.stages.scoring import OpenBenchmark, Run
from tasks.stages.study.kape import folder_name
from tasks.stages.study.report import REPORT
from tasks.stages.train import TrainingInput, read_training
from tasks.training.data import TrainingData


def open_data(
    settings: Settings, data: Mapping[str, Path], test: Path | None, bases: Sequence[str]
) -> dict[str, TrainingData]:
    """Return data sets by name, checked, read and split once for all bases and seeds."""
    check_training(settings, data, test, bases)
    training, place = settings.training.model_copy(update={"seed": None}), test and test.resolve()
    opened = {name: TrainingInput(path.resolve(), place, training) for name, path in data.items()}
    return {name: each.data for name, each in opened.items()}


@stage("write-training-study", "report the study of trainings")
def write_training_study(
    places: Sequence[Place],
    runs: Sequence[Run],
    benchmarks: Mapping[str, OpenBenchmark],
    settings: PublishSettings,
) -> Path:
    """Write page, Markdown, and all figures as JSON; return their folder."""
    folder = settings.folder.resolve()
    qrels = {name: qrels_of(each.content.labels) for name, each in benchmarks.items()}
    judged = [[*of.values()] for queries in qrels.values() for of in queries.values()]
    has_several = any(sum(value > 0 for value in of) > 1 for of in judged)
    metrics = METRICS if has_several else METRICS[:-1]  # with one right code each MMRR is MRR
    tested = []
    seeds: dict[int, None] = {}
    for place, run in zip(places, runs, strict=True):
        (rankings,) = read_rankings(benchmarks[place.test], [run]).values()
        values = query_values(rankings, qrels[place.test], metrics)
        if place.data != AS_IT_IS:
            training = read_training(folder / "encoders" / run.method)
            history = training.history
            dev = dict([(0.0, history.before), *history.scores])[history.best_epoch]
            values |= {DEV + history.metric: np.array([dev]), PAIRS: np.array([training.pairs])}
            seeds[training.description.recipe.seed] = None
        tested.append((place, values))
    report = TrainingStudyReport(seeds=tuple(seeds), figures=training_figures(tested))
    names = list(dict.fromkeys(place.data for place in places if place.data != AS_IT_IS))
    written = folder / "training-studies" / folder_name(names)
    files = {REPORT: report.model_dump_json(indent=1)}
    document, about = training_study_document(report), f"Training on {', '.join(names)}"
    key = artifact_key("study-training", "-".join(names))
    write_pages(written, "study", document, files, key=key, about=about)
    return written


def read_training_study(folder: Path) -> TrainingStudyReport:
    """Return the report that `write_training_study` wrote into a folder."""
    return TrainingStudyReport.model_validate_json((folder / REPORT).read_text("utf-8"))
