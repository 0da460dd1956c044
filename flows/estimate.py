"""The estimate flow: scores of encoders on queries that nobody labelled."""

from functools import partial
from pathlib import Path

from prefect import flow

from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, results_of, run_name
from tasks.runtime.input_checks import encoders_to_estimate
from tasks.stages.estimate import estimate_method, log_sizes, open_input, write_estimate
from tasks.stages.preflight import check_inputs


@flow(name="estimate", flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
def estimate(train: Path, queries: Path, settings: FlowSettings = None) -> Path:
    """Estimate each method's scores on queries from training pairs; return the report's folder.

    Args:
        train: Training pairs: an exported benchmark, a BEIR folder or a split of one, a folder of
            CodeSearchNet's jsonl files, or a file of labelled pairs.
        queries: Queries: JSON Lines with "query" in each line, or anything that `train` can be.
        settings: The settings, with the methods in `evaluation.methods` and how to estimate in
            `estimation`; None reads them from file and environment.
    """
    ready = check_inputs(settings, partial(open_input, train=train, queries=queries))
    database, chosen = ready.database, ready.settings
    inputs = ready.opened
    log_sizes(inputs)
    methods = encoders_to_estimate(chosen.scoring)
    estimated = [
        estimate_method.submit(
            database,
            inputs,
            method,
            chosen.encoder,
            chosen.ray,
            chosen.estimation,
            return_state=False,
        )
        for method in methods
    ]
    return write_estimate(inputs, results_of(estimated), chosen.publish, wait_for=estimated)
