"""The KAPE study: estimates without labels, and the truth, over training and test pairs."""

from functools import partial
from pathlib import Path

from prefect import flow

from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, results_of, run_name
from tasks.stages.preflight import check_inputs
from tasks.stages.study.kape import open_data, study_method, write_kape_report


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
