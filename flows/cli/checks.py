"""Checks that a command makes before Prefect is imported, so that a mistake is answered at once."""

from collections.abc import Callable
from typing import Any

from flows.cli.output import say
from flows.options import (
    CompareAnnotators,
    Diff,
    Estimate,
    Generate,
    Leaderboard,
    Options,
    Pipeline,
    Study,
    StudyKape,
    StudyTraining,
    Train,
)
from infra.errors import SettingsError, SourceError
from infra.outputs import require_writable
from infra.settings import Settings
from infra.store import require_store
from infra.store.benchmarks import only_benchmark
from tasks.benchmarks.labelled_pairs import read_truth
from tasks.runtime.input_checks import (
    ComparisonNeeds,
    EstimateNeeds,
    KapeNeeds,
    Needs,
    SourceNeeds,
    TrainingNeeds,
    check_licences,
    openings,
)
from tasks.runtime.requirements import fetched_at_first_use, missing_requirements

_READ_THE_STORE = ("annotate", "publish", "evaluate")
_JUDGE = ("benchmark", "annotate")


def pipeline(options: Pipeline) -> None:
    """Check the names, the input, and the store where the command goes on from one."""
    if not options.replay:
        judging = options.command in _JUDGE and options.settings.annotation.agents
        _preset(options.settings, judging=judging and not options.plan)
        SourceNeeds().check(options.settings)
        if judging and not options.settings.publish.include_unlicensed:
            try:
                for _, opening in openings(options.settings.source):
                    check_licences(opening)
            except SourceError as error:
                way_out = "give --include-unlicensed for private use"
                raise SourceError(f"{error}, or {way_out}") from None
        if judging:
            options.settings.llm.require_model()
    if options.replay or (options.command in _READ_THE_STORE and not options.plan):
        store(options)


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
    if settings.publish.include_unlicensed:
        say("code of unknown or forbidding licences is exported: keep it for private use")
    if models := fetched_at_first_use(
        settings.search, settings.evaluation, settings.encoder.checkpoints
    ):
        say(f"fetched from the Hugging Face hub at first use: {', '.join(models)}")


def study(options: Study) -> None:
    """Check the names, the input, the store, and the files of further figures."""
    _preset(options.settings, judging=False)
    SourceNeeds().check(options.settings)
    store(options)
    for file in (*options.annotators, options.annotation_store, options.score_sheet):
        if file is not None and not file.is_file():
            raise SourceError(f"{file} cannot be read: there is no such file")


_NEEDS: dict[type[Options], Callable[[Any], Needs]] = {
    Diff: lambda of: ComparisonNeeds([of.before, of.after]),
    Estimate: lambda of: EstimateNeeds([of.train, of.queries], of.judged),
    StudyKape: lambda of: KapeNeeds(of.data),
    StudyTraining: lambda of: TrainingNeeds(of.data, of.test, of.bases),
    Train: lambda of: TrainingNeeds({"data": of.data}, of.test),
}


def inputs(options: Options) -> None:
    """Check the names, files and folders that a command needs beside its settings."""
    _NEEDS[type(options)](options).check(options.settings)


def generation(options: Generate) -> None:
    """Check the store, and the input unless a sheet is read back."""
    if not options.confirmed:
        _preset(options.settings, judging=not options.dry_run)
        SourceNeeds().check(options.settings)
        options.settings.llm.require_model()
    store(options)


def leaderboard(options: Leaderboard) -> None:
    """Check methods, metrics, the benchmark's folder and the files of runs."""
    folder = options.benchmark or only_benchmark(options.settings.store)
    ComparisonNeeds([folder], options.runs).check(options.settings)
    if options.unjudged_to_annotate:
        options.settings.llm.require_model()


def store(options: Options) -> None:
    """Check that there is a store."""
    require_store(options.settings.store)


def compare_annotators(options: CompareAnnotators) -> None:
    """Check the file of pairs with known labels, and make the folder of the output."""
    if options.output:
        require_writable(options.output)
    read_truth(options.truth, options.draw)
