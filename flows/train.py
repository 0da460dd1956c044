"""The train flow: an encoder is fine-tuned, or a model trained, and compared with its base."""

from functools import partial
from pathlib import Path

from prefect import flow

from flows.evaluate import score_methods
from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, results_of, run_name
from tasks.encoders import encoders
from tasks.stages.leaderboard import write_leaderboard
from tasks.stages.preflight import check_inputs
from tasks.stages.scoring import open_benchmark
from tasks.stages.train import (
    PAGE,
    WrittenTraining,
    open_input,
    train_encoder,
    write_training,
)


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
