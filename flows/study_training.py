"""The training study: bases trained on data sets by several seeds, compared on test queries."""

from pathlib import Path

from prefect import flow

from flows.runtime.parameters import FlowSettings
from flows.runtime.run_names import data_name
from flows.runtime.steps import SIDE_BY_SIDE, results_of
from tasks.encoders import encoders
from tasks.reports.training_study import Place
from tasks.stages.preflight import check_training_study
from tasks.stages.scoring import open_benchmark, score_method
from tasks.stages.study.training import WrittenTrainingStudy, trainings_of, write_training_study
from tasks.stages.train import TEST, train_encoder


@flow(name="study-training", flow_run_name=data_name, task_runner=SIDE_BY_SIDE)
def study_training(
    bases: tuple[str, ...],
    data: dict[str, Path],
    test: Path | None = None,
    seeds: int = 1,
    settings: FlowSettings = None,
) -> WrittenTrainingStudy:
    """Train each base on each data set by each seed, one after the other; score all, and report.

    Args:
        bases: Encoders that are fine-tuned, and models that are trained from nothing.
        data: Name of a data set → what is trained on: a benchmark or pairs, split or not.
        test: Folder of a benchmark to test all on; None takes each data set's own test queries.
        seeds: How many seeds, from that of the settings or the recipe on.
        settings: The settings, of which `training` says how is trained, and evaluation.methods
            what is scored besides; None reads them from file and environment.
    """
    ready = check_training_study(settings, bases, data, test)
    database, chosen = ready.database, ready.settings
    trained, steps = [], []
    folders: dict[str, Path] = {}
    methods: dict[str, None] = {}
    for place, inputs in trainings_of(bases, data, test, seeds, chosen.training):
        made = train_encoder(database, inputs, chosen, return_state=True)
        encoders.adopt(made.result().reference)
        trained.append((place, made.result().name))
        steps.append(made)
        folders.setdefault(place.test, test or made.result().folder / TEST)
        methods |= dict.fromkeys([place.base] if inputs.is_fine_tuning else [])
    benchmarks = {name: open_benchmark(database, folder) for name, folder in folders.items()}
    methods |= dict.fromkeys(chosen.evaluation.methods)
    tested = [*((Place(name, each), each) for name in benchmarks for each in methods), *trained]
    scored = [
        score_method.submit(
            database, benchmarks[place.test], method, chosen, wait_for=steps, return_state=False
        )
        for place, method in tested
    ]
    places, runs = [place for place, _ in tested], results_of(scored)
    return write_training_study(places, runs, benchmarks, chosen.publish, wait_for=scored)
