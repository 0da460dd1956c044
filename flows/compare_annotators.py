"""Annotators compared with known labels, as a flow."""

from collections.abc import Sequence
from pathlib import Path

from prefect import flow

from infra.settings import Configuration, Settings, load_settings
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.compare_annotators import JudgedTruth, judge_truth, settings_of_annotators


@flow(name="compare-annotators", flow_run_name="compare-annotators-{truth.name}")
def compare_annotators(
    truth: Path,
    models: Sequence[str],
    configurations: Sequence[Configuration],
    settings: Settings | None = None,
    *,
    limit: int | None = None,
) -> list[JudgedTruth]:
    """Have every model in every configuration judge pairs whose labels are known.

    Args:
        truth: File of the pairs, as JSON Lines or as CoSQA publishes its own.
        models: litellm's names.
        configurations: Which of the agents take part.
        settings: Everything else; read from file and environment when not given.
        limit: Only the file's first so many pairs count.
    """
    annotators = settings_of_annotators(settings or load_settings(), models, configurations)
    return [judge_truth(truth, limit, current_recipe(chosen), chosen) for chosen in annotators]
