"""The training study: bases trained on data sets by several seeds, compared on test queries."""

from functools import partial
from itertools import product
from pathlib import Path

from prefect import flow

from flows.evaluate import score_methods
from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, results_of, run_name
from tasks.encoders import encoders
from tasks.reports.training import Place
from tasks.stages.preflight import check_inputs
from tasks.stages.scoring import open_benchmark
from tasks.stages.study.training import open_data, write_training_study
from tasks.stages.train import TrainingInput, train_encoder
from tasks.training.models import models


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
    ready = check_inputs(settings, partial(open_data, data=data, test=test, bases=bases))
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
    return write_training_study(places, runs, benchmarks, chosen.publish, wait_for=scored)
