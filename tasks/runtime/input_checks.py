"""Checks of names, options and folders that need neither Prefect nor the store.

A command makes them before it starts anything, and a flow makes them again: it may have been
started by a deployment.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from infra.errors import EncoderError, SettingsError, SourceError, UnknownNameError
from infra.registry import unknown_name
from infra.settings import EncoderSettings, SearchSettings, Settings, SourceSettings
from tasks.benchmarks import is_export
from tasks.benchmarks.beir import beir_split
from tasks.benchmarks.manifest import MANIFEST
from tasks.benchmarks.pair_splits import find_split, split_path
from tasks.corpus.composed import Readable
from tasks.encoders import NOT_PUBLISHED, encoders, not_published
from tasks.estimators import measure_named
from tasks.files.text import printable, read_text_lines
from tasks.metrics import Variant
from tasks.ranking.methods import chosen_methods, components, renamed
from tasks.retrievers import retrievers
from tasks.sources import Parts, open_source
from tasks.sources.codesearchnet import CodeSearchNetSource
from tasks.training.encoder import check_trainable
from tasks.training.models import models
from tasks.training.recipes import RECIPES

_DATA_NAME = re.compile(r"(?!none$)[A-Za-z0-9][\w.-]{0,60}", re.ASCII)
_USUAL_ENCODER = SearchSettings().encoders[0]


def check_pipeline_input(settings: Settings) -> Readable:
    """Return the source of the settings, after checking the names of encoders and methods.

    Raises:
        UnknownNameError: There is no such source, filter, encoder or retrieval method.
        SettingsError: An option of the source is missing, unknown or has a bad value, or the mean
            of the encoders' similarities means nothing.
        SourceError: The input is not there.
        EncoderError: An encoder has no checkpoint here and is published nowhere.
    """
    for encoder in settings.search.encoders:
        check_checkpoint(encoder, settings.encoder)
    _check_scales(settings.search)
    _checked_methods(settings)
    return open_source(settings.source)


def _check_scales(search: SearchSettings) -> None:
    """Refuse the mean of similarities where one has no scale in common with the others.

    Raises:
        SettingsError: An encoder that is compared by products is one of several.
    """
    products = (name for name in search.encoders if encoders.get(name).spec.similarity == "product")
    name = next(products, "") if len(search.encoders) > 1 and search.fusion == "mean" else ""
    if name:
        raise SettingsError(
            f"encoder {name} is compared by products, whose mean with other similarities says "
            "nothing: name it alone, or set COSQA_SEARCH__FUSION=scaled"
        )


def _checked_methods(settings: Settings) -> list[str]:
    """Return the methods to score, after checking their names and their encoders' checkpoints."""
    methods = chosen_methods(settings.evaluation, settings.search)
    for name in chain.from_iterable(map(components, methods)):
        if encoders.has(name):
            check_checkpoint(name, settings.encoder)
    return methods


def openings(source: SourceSettings) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the name of each source that is read, and the call that opens it."""
    queries, codes = Parts.of(source)
    parts = [part for part in (queries, *codes) if part]
    for part in parts:
        yield part.name, partial(part.open, source)
    if not parts:
        yield source.name, partial(open_source, source)


def check_licences(opening: Callable[[], object]) -> None:
    """Open a source, and refuse CodeSearchNet's functions without the file of their licences.

    Raises:
        SourceError: The input or the file is not there.
        SettingsError: The source's options are not right.
    """
    source = opening()
    if isinstance(source, CodeSearchNetSource):
        source.require_licences()


def check_checkpoint(name: str, settings: EncoderSettings) -> None:
    """Refuse an encoder that has no checkpoint here and is published nowhere.

    Raises:
        UnknownNameError: There is no such encoder.
        EncoderError: No folder is given for it.
    """
    if name not in settings.checkpoints and encoders.get(name).spec.revision == NOT_PUBLISHED:
        raise EncoderError(not_published(name))


def with_named_encoders(settings: Settings) -> Settings:
    """Return the settings with each reference to an encoder replaced by the encoder's name.

    From then on this process finds the encoders by these names, which files and columns are called
    by, and checkpoints where the settings say.

    Raises:
        UnknownNameError: There is no such encoder or method.
        SettingsError: Two encoders have one name, or an option of one is unknown.
        EncoderError: What a reference names cannot be read.
    """
    encoders.substitute(settings.encoder.checkpoints)
    references: dict[str, str] = {}

    def name_of(encoder: str) -> str:
        name = encoders.adopt(encoder)
        if ":" in encoder and references.setdefault(name, encoder) != encoder:
            raise SettingsError(
                f"{references[name]} and {encoder} are both named {name!r}: give one of them "
                f"another name, as in {encoder.partition(':')[0]}:NAME=…"
            )
        return name

    names = tuple(name_of(encoder) for encoder in settings.search.encoders)
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated:
        raise SettingsError(f"search.encoders has {repeated!r} twice: leave one out")
    methods = tuple(renamed(method, name_of) for method in settings.evaluation.methods)
    base = settings.training.base
    base = encoders.adopt(base) if encoders.has(base) else base
    return settings.model_copy(
        update={
            "training": settings.training.model_copy(update={"base": base}),
            "search": settings.search.model_copy(update={"encoders": names}),
            "evaluation": settings.evaluation.model_copy(update={"methods": methods}),
        }
    )


def check_comparison_input(
    settings: Settings, benchmarks: Sequence[Path], runs: Sequence[Path] = ()
) -> None:
    """Check the methods to compare, metrics, folders and files of runs.

    Raises:
        UnknownNameError: There is no such method or metric.
        SourceError: A folder is not a benchmark, or a run is not there.
        SettingsError: Two methods or runs have one name.
        EncoderError: An encoder has no checkpoint here and is published nowhere.
    """
    methods = _checked_methods(settings)
    for metric in settings.evaluation.metrics:
        Variant.parse(metric)
    for folder in benchmarks:
        check_folder(folder)
    _check_runs(methods, runs)


def check_estimate_input(
    settings: Settings, paths: Sequence[Path], judged: Path | None = None
) -> None:
    """Check the methods and metrics of an estimate, and that its files are there.

    Args:
        settings: The settings.
        paths: Training pairs and queries.
        judged: The benchmark of judged queries.

    Raises:
        UnknownNameError: There is no such method or metric.
        SettingsError: A method has no query vectors.
        EncoderError: An encoder has no checkpoint here and is published nowhere.
        SourceError: A path is not there, or the folder of judged queries is not a benchmark.
    """
    for method in encoders_to_estimate(settings):
        check_checkpoint(method, settings.encoder)
    for metric in settings.estimation.metrics:
        measure_named(metric)
    for path in paths:
        _check_is_there(path)
    if judged:
        check_folder(judged)


def check_training_input(
    settings: Settings, bases: Sequence[str], data: Mapping[str, Path], test: Path | None
) -> None:
    """Check bases, recipe, methods to compare with, and that data and test are there.

    Raises:
        UnknownNameError: There is no such base, recipe or method.
        EncoderError: A base has no checkpoint here and is published nowhere.
        SettingsError: A base cannot be fine-tuned; the name is that of another method; there is no
            data set, or its name is not fit for a file's.
        SourceError: There is nothing at a path, or the test is no benchmark.
    """
    for base in bases:
        _check_training(base, settings)
    if settings.evaluation.methods:
        _checked_methods(settings)
    _check_data_names(data)
    for path in data.values():
        _check_is_there(path)
    if test:
        check_folder(test)


def _check_training(base: str, settings: Settings) -> None:
    recipe, name = settings.training.recipe, settings.training.name
    if base not in models.names():
        if not encoders.has(base):
            raise UnknownNameError(unknown_name("base", base, [*encoders, *models]))
        check_checkpoint(base, settings.encoder)
        check_trainable(base, encoders.get(base))
    if recipe and recipe not in RECIPES:
        raise UnknownNameError(unknown_name("recipe", recipe, list(RECIPES)))
    if recipe and base in models.names() and models.get(base).recipe.loss == "none":
        raise SettingsError(f"{base} is made of all pairs at once: leave --recipe {recipe} out")
    if name.lower() in map(str.lower, (*encoders.registered(), *retrievers.names())):
        raise SettingsError(f"--name {name} is that of another method: give another")


def encoders_to_estimate(settings: Settings) -> list[str]:
    """Return the methods whose scores are estimated: those of the settings, else the encoders.

    Raises:
        UnknownNameError: There is no such method.
        SettingsError: A method has no query vectors, by which similar queries are found.
    """
    methods = list(dict.fromkeys(settings.evaluation.methods or settings.search.encoders))
    for method in methods:
        if not encoders.has(method):
            components(method)
            raise SettingsError(
                f"{method} cannot be estimated: it has no query vectors, by which the training "
                "queries nearest to a query are found; give --method an encoder, such as "
                f"{_USUAL_ENCODER} (`cosqa list encoders`)"
            )
    return methods


def check_folder(folder: Path) -> None:
    """Refuse a folder that is not a benchmark.

    Raises:
        SourceError: It is missing, neither an export nor a BEIR folder nor a split of one, or one
            with several splits.
    """
    _check_path(folder)
    if not folder.exists():
        raise SourceError(f"{folder} is not a benchmark: there is no such folder")
    if not is_export(folder) and not beir_split(folder, usual="test"):
        raise SourceError(
            f"{folder} is not a benchmark: it has neither an export's {MANIFEST} nor BEIR's "
            "corpus.jsonl"
        )


def _check_is_there(path: Path) -> None:
    _check_path(path)
    if not path.exists():
        raise SourceError(f"{printable(path)} cannot be read: there is no such file or folder")


def _check_path(path: Path) -> None:
    """Refuse a path that no parameter of a flow can be."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise SourceError(
            f"{printable(path)}: the name is not UTF-8, and no run can be recorded with it: "
            "rename it"
        ) from None


def check_study_data(settings: Settings, data: Mapping[str, Path]) -> None:
    """Check the encoders and the data sets of a study of estimators.

    Args:
        settings: Of which search.encoders are studied.
        data: Name of a data set → folder with its training and test pairs.

    Raises:
        UnknownNameError: There is no such encoder.
        EncoderError: An encoder has no checkpoint here and is published nowhere.
        SettingsError: There is no data set, or its name is not fit for a file's.
        SourceError: A folder is missing, or has no training or no test pairs, or a split twice.
    """
    for encoder in settings.search.encoders:
        check_checkpoint(encoder, settings.encoder)
    _check_data_names(data)
    for folder in data.values():
        _check_path(folder)
        split_path(folder, "train")
        split_path(folder, "test")
        find_split(folder, "valid")


def _check_data_names(names: Collection[str]) -> None:
    """Refuse no data set, and one of a name that no file can have."""
    if not names:
        raise SettingsError("no data set is given: name one, such as --data docs=FOLDER")
    for name in names:
        if not _DATA_NAME.fullmatch(name):
            raise SettingsError(
                f"a data set cannot be called {printable(name)!r}: files are named after it, so "
                "use letters, digits, dot, dash and underscore"
            )


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
        if not any(line.strip() for _, line in read_text_lines(run)):
            raise SourceError(f"run {run} has no results: lines of query Q0 code rank score tag")
