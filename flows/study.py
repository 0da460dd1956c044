"""The flows of the papers' studies, computed for one's own benchmark and data."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

from prefect import flow

from flows.evaluate import score_methods
from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, results_of, run_name
from infra.settings import Configuration
from tasks.encoders import encoders
from tasks.reports.training import Place
from tasks.stages.compare_annotators import JudgedTruth, judge_truth
from tasks.stages.preflight import check_annotators, check_inputs, collected_source
from tasks.stages.scoring import OpenBenchmark, open_benchmark
from tasks.stages.study import kape, training
from tasks.stages.study.evidence import Studied, StudyFiles
from tasks.stages.study.overlap import overlaps_of
from tasks.stages.study.report import studied_benchmark, with_study_metrics, write_study
from tasks.stages.train import TrainingInput, train_encoder
from tasks.training.models import models


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
    ready = check_inputs(settings, partial(kape.open_data, data=data))
    encoder, ray = ready.settings.encoder, ready.settings.ray
    studied = [
        kape.study_method.submit(ready.database, each, method, encoder, ray)
        for each in ready.opened
        for method in ready.settings.search.encoders
    ]
    return kape.write_kape_report(results_of(studied), ready.settings.publish, wait_for=studied)


@flow(name="study-training", flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
def study_training(
    bases: tuple[str, ...],
    data: dict[str, Path],
    test: Path | None = None,
    seeds: int = 1,
    settings: FlowSettings = None,
) -> Path:
    """Train each base on each data set by each seed, score all, and return the report's folder.

    Args:
        bases: Encoders that are fine-tuned, and models that are trained from nothing.
        data: Name of a data set → what is trained on: a benchmark or pairs, split or not.
        test: Folder of a benchmark to test all on; None takes each data set's own test queries.
        seeds: How many seeds, from that of the settings or the recipe on.
        settings: The settings, of which `training` says how is trained, and evaluation.methods
            what is scored besides; None reads them from file and environment.
    """
    ready = check_inputs(settings, partial(training.open_data, data=data, test=test, bases=bases))
    database, chosen = ready.database, ready.settings
    test = test and test.resolve()

    def inputs_of(path: Path, **given: object) -> TrainingInput:
        return TrainingInput(path.resolve(), test, chosen.training.model_copy(update=given))

    known = [base if base in models.names() else encoders.adopt(base) for base in bases]
    first = inputs_of(Path(), base=known[0]).recipe.seed
    trained, steps = [], []
    folders: dict[str, Path] = {}
    for base, name, seed in product(dict.fromkeys(known), data, range(first, first + seeds)):
        inputs = inputs_of(data[name], base=base, seed=seed, name=f"{base}-{name}-{seed}")
        inputs.data = ready.opened[name]
        made = train_encoder(database, inputs, chosen.publish, chosen.ray, return_state=True)
        encoders.adopt(made.result().reference)
        place = Place(test.name if test else name, base, name)
        trained.append((place, made.result().name))
        steps.append(made)
        folders.setdefault(place.test, test or made.result().test)
    benchmarks = {name: open_benchmark(database, folder) for name, folder in folders.items()}
    as_they_are = [base for base in known if base not in models.names()]
    methods = dict.fromkeys([*as_they_are, *chosen.evaluation.methods])
    tested = [
        *((Place(name, each), each) for name in benchmarks for each in methods),
        *trained,
    ]
    scored = [
        future
        for place, method in tested
        for future in score_methods(
            database, benchmarks[place.test], chosen.scoring, steps, [method]
        )
    ]
    places, runs = [place for place, _ in tested], results_of(scored)
    return training.write_training_study(places, runs, benchmarks, chosen.publish, wait_for=scored)


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
