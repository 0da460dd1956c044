"""The flows that train: an encoder or a model, compared with its base; and a study of trainings."""

from functools import partial
from itertools import product
from pathlib import Path

from prefect import flow

from flows.evaluate import score_methods
from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, results_of, run_name
from tasks.encoders import encoders
from tasks.reports.training import Place
from tasks.stages.leaderboard import write_leaderboard
from tasks.stages.preflight import check_inputs
from tasks.stages.scoring import open_benchmark
from tasks.stages.study.training import open_data, write_training_study
from tasks.stages.train import (
    PAGE,
    TrainingInput,
    WrittenTraining,
    open_input,
    train_encoder,
    write_training,
)
from tasks.training.models import is_untrained


@flow(name="train", flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
def train(data: Path, test: Path | None = None, settings: FlowSettings = None) -> WrittenTraining:
    """Train a model, and compare it with its base and with other methods on test queries.

    Args:
        data: The training data: a benchmark or pairs, split or not.
        test: Folder of a benchmark to test on; None takes the data's own test queries.
        settings: The settings, with the base in `training` and further methods to compare with in
            `evaluation.methods`; None reads them from file and environment.
    """
    ready = check_inputs(settings, partial(open_input, data=data, test=test))
    database, chosen = ready.database, ready.settings
    inputs = ready.opened
    made = train_encoder(database, inputs, chosen.publish, chosen.ray, return_state=True)
    trained = made.result()
    encoders.adopt(trained.reference)
    benchmark = open_benchmark(database, test or trained.test)
    base = [chosen.training.base] if inputs.is_fine_tuning else []
    methods = dict.fromkeys([*base, trained.name, *chosen.evaluation.methods])
    scored = score_methods(database, benchmark, chosen.scoring, [made], methods)
    runs = results_of(scored)
    board = write_leaderboard(
        database, benchmark, runs, chosen.scoring,
        wait_for=scored, return_state=True,
    )  # fmt: skip
    write_training(trained, benchmark, runs, chosen.evaluation, wait_for=[board])
    return WrittenTraining(
        encoder=trained,
        page=trained.folder / PAGE,
        leaderboard=board.result().folder / "leaderboard.html",
    )


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

    known = [base if is_untrained(base) else encoders.adopt(base) for base in bases]
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
    as_they_are = [base for base in known if not is_untrained(base)]
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
