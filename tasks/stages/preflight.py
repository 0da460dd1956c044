"""What can be known to be wrong before hours of work: names, files, the model's key, the engine."""

from collections.abc import Sequence
from pathlib import Path

from agents import check_model
from infra.errors import SettingsError, SourceError
from infra.settings import Settings, load_settings
from tasks.encoders import encoders
from tasks.metrics import Variant
from tasks.ranking.methods import RERANKED, chosen_methods, components
from tasks.sources import open_source
from tasks.stages.annotate.plan import recipe_identity
from tasks.stages.leaderboard import check_folder, contestants


def checked(settings: Settings | None, judging: bool = False) -> Settings:
    """Return the settings, read from file and environment when not given, once they make sense.

    Args:
        settings: What a flow was given.
        judging: Whether the flow will need a language model and boxes.

    Raises:
        UnknownNameError: There is no such source, encoder or retrieval method.
        SettingsError: The language model's name or key cannot be right.
        EngineUnavailableError: No Docker engine answers.
        ImageMissingError: The sandbox image is not there.
    """
    settings = settings or load_settings()
    open_source(settings.source)
    for encoder in settings.search.encoders:
        encoders.get(encoder)
    chosen_methods(settings.evaluation, settings.search)
    if judging:
        check_model(settings.llm)
        recipe_identity(settings)
    return settings


def checked_contest(
    settings: Settings | None, benchmarks: Sequence[Path], runs: Sequence[Path] = ()
) -> Settings:
    """Return the settings, see `checked`, once they make sense for benchmarks that are folders.

    Args:
        settings: What a flow was given.
        benchmarks: The folders.
        runs: Rankings that were made elsewhere.

    Raises:
        UnknownNameError: There is no such method or metric.
        SourceError: A folder is no benchmark, or a run is not there.
        SettingsError: Two methods or runs have one name; or a method asks a language model whose
            name or key cannot be right.
    """
    settings = settings or load_settings()
    methods = contestants(settings)
    for method in methods:
        components(method)
    for metric in settings.evaluation.metrics:
        Variant.parse(metric)
    for folder in benchmarks:
        check_folder(folder)
    _check_runs(methods, runs)
    if any(method.startswith(RERANKED) for method in methods):
        check_model(settings.llm)
    return settings


def _check_runs(methods: Sequence[str], runs: Sequence[Path]) -> None:
    names = [*methods, *(run.stem for run in runs)]
    repeated = sorted(name for name in set(names) if names.count(name) > 1)
    if repeated:
        raise SettingsError(
            f"two runs are named {repeated[0]!r}: give each method once, and rename files whose "
            "names stand for the same"
        )
    for run in runs:
        if not run.is_file():
            raise SourceError(f"run {run} cannot be read: there is no such file")
