"""The compare-annotators flow: agents judge pairs with known labels."""

from collections.abc import Sequence
from pathlib import Path

from prefect import flow

from flows.runtime.runs import FlowSettings, run_name
from infra.settings import Configuration
from tasks.stages.compare_annotators import JudgedTruth, judge_truth
from tasks.stages.preflight import check_annotators, check_inputs


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
