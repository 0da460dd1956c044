"""Checks that a command makes before Prefect is imported, so that a mistake is answered at once."""

from flows.cli.estimate_options import EstimateOptions
from flows.cli.evaluation_options import CompareOptions, DiffOptions, LeaderboardOptions
from flows.cli.generation_options import GenerationOptions
from flows.cli.kape_options import KapeOptions
from flows.cli.options import PipelineOptions
from flows.cli.output import say
from flows.cli.study_options import StudyOptions
from infra.errors import SettingsError, SourceError
from infra.settings import Settings
from infra.store import require_store
from tasks.benchmarks.labelled_pairs import read_truth
from tasks.runtime.input_checks import (
    check_comparison_input,
    check_estimate_input,
    check_pipeline_input,
    check_study_data,
)
from tasks.runtime.requirements import departures, fetched_at_first_use, missing_requirements

_READ_THE_STORE = ("annotate", "publish", "evaluate")
_JUDGE = ("benchmark", "annotate")


def pipeline(options: PipelineOptions) -> None:
    """Check the names, the input, and the store where the command goes on from one."""
    if not options.replay:
        judging = options.command in _JUDGE and not options.plan
        _preset(options.settings, judging=judging and options.settings.annotation.agents)
        check_pipeline_input(options.settings)
    if options.replay or (options.command in _READ_THE_STORE and not options.plan):
        require_store(options.settings.store)


def _preset(settings: Settings, *, judging: bool) -> None:
    """Refuse a preset that lacks something, all of it at once; say what is yet to be fetched.

    Args:
        settings: The settings, with or without a preset.
        judging: Whether a language model is going to work.

    Raises:
        SettingsError: Files, a checkpoint or the model's key are missing.
    """
    if not settings.preset:
        return
    if missing := missing_requirements(settings, judging=judging):
        lines = "\n".join(f"- {line}" for line in missing)
        raise SettingsError(f"preset {settings.preset} lacks:\n{lines}")
    if changed := departures(settings):
        say(f"preset {settings.preset}, but for what is set elsewhere: {', '.join(changed)}")
    if models := fetched_at_first_use(settings):
        say(f"fetched from the Hugging Face hub at first use: {', '.join(models)}")


def study(options: StudyOptions) -> None:
    """Check the names, the input, the store, and the files of further figures."""
    _preset(options.settings, judging=False)
    check_pipeline_input(options.settings)
    require_store(options.settings.store)
    files = (*options.annotators, options.annotation_store, options.score_sheet)
    for file in files:
        if file is not None and not file.is_file():
            raise SourceError(f"{file} cannot be read: there is no such file")


def study_kape(options: KapeOptions) -> None:
    """Check the encoders, and that each folder has training and test pairs."""
    check_study_data(options.settings, options.data)


def generation(options: GenerationOptions) -> None:
    """Check the store, and the input unless a sheet is read back."""
    if not options.confirmed:
        _preset(options.settings, judging=not options.dry_run)
        check_pipeline_input(options.settings)
    require_store(options.settings.store)


def leaderboard(options: LeaderboardOptions) -> None:
    """Check methods, metrics, the benchmark's folder and the files of runs."""
    check_comparison_input(options.settings, [options.benchmark], options.runs)


def estimate(options: EstimateOptions) -> None:
    """Check methods, metrics, and that all files and folders are there."""
    check_estimate_input(options.settings, [options.train, options.queries], options.judged)


def diff(options: DiffOptions) -> None:
    """Check methods, metrics and the folders of both versions."""
    check_comparison_input(options.settings, [options.before, options.after])


def labelling_rounds(settings: Settings) -> None:
    """Check that there is a store."""
    require_store(settings.store)


def compare_annotators(options: CompareOptions) -> None:
    """Check the file of pairs with known labels."""
    read_truth(options.truth, options.limit)
