"""The check of a run's inputs, made once, without Prefect: names, options, files and folders.

A command makes it before a server starts, and hands on what it has opened; its flow takes that,
where its settings are the same. A deployment's flow, to which no command has handed any, makes it
as its first step.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from infra.errors import EncoderError, PublishError, SettingsError, SourceError, UnknownNameError
from infra.registry import unknown_name
from infra.settings import (
    CommitteeSettings,
    EncoderSettings,
    LanguageModelSettings,
    ScoringSettings,
    SearchSettings,
    Settings,
    SourceSettings,
)
from infra.store import Database, open_database
from tasks.benchmarks.manifest import is_export, read_manifest
from tasks.benchmarks.sealing import read_answers
from tasks.corpus.merging import CombinedSource, Readable
from tasks.encoders import NOT_PUBLISHED, encoders, not_published
from tasks.estimators import measure_named
from tasks.inputs.challenge import LANGUAGES
from tasks.inputs.formats import benchmark_at, benchmark_signs, find_split, split_path
from tasks.inputs.pairs import read_queries
from tasks.inputs.text import printable, read_text_lines
from tasks.inputs.trec import read_run
from tasks.metrics import Variant
from tasks.ranking.methods import chosen_methods, components, renamed
from tasks.ranking.pair_models import pair_models
from tasks.reports.text import counted
from tasks.retrievers import retrievers
from tasks.runtime.references import RecipeReference
from tasks.sources import WRITTEN, SourceRefs, asks_written, open_source, place_written
from tasks.sources.codesearchnet import CodeSearchNetSource
from tasks.sources.jsonl import JsonLinesSource
from tasks.sources.source_code import SourceCode
from tasks.training.encoder import check_trainable
from tasks.training.models import is_untrained, models
from tasks.training.recipes import RECIPES

_DATA_NAME = re.compile(r"(?!none$)[A-Za-z0-9][\w.-]{0,60}", re.ASCII)
_FIRST_LINES = 20_000  # are checked in a second
_USUAL_ENCODER = SearchSettings().encoders[0]


@dataclass(frozen=True)
class ValidatedInputs:
    """The validated inputs of a run.

    Attributes:
        given: The settings as they were given.
        settings: Those with encoders by name, and with the model's key if that is in a block.
        opened: What the check has opened: the source of a pipeline, the data of a training.
        recipes: The recipes of the agents whose model and engine were checked.
    """

    given: Settings
    settings: Settings
    opened: Any
    recipes: dict[CommitteeSettings, RecipeReference] = field(default_factory=dict, compare=False)

    @cached_property
    def database(self) -> Database:
        """The store, opened when it was first asked for."""
        return open_database(self.settings.store)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the source's content when it was first asked for."""
        source = self.opened or open_source(self.settings.source)
        return str(source.fingerprint())


_handed_on: list[ValidatedInputs] = []


def check(settings: Settings, needs: Callable[[Settings], object]) -> ValidatedInputs:
    """Return the validated inputs of a run.

    ``needs`` checks names, files and folders, and returns what it has opened. The store's folder is
    absolute: workers of a cluster have working folders of their own.

    Raises:
        UnknownNameError: There is no such source, encoder or retrieval method.
        SourceError: An input file is missing.
    """
    named = with_named_encoders(settings)
    store = named.store.model_copy(update={"folder": named.store.folder.absolute()})
    source = place_written(named.source, store.folder / WRITTEN, named.search.top_k)
    chosen = named.model_copy(update={"store": store, "source": source})
    return ValidatedInputs(settings, chosen, needs(chosen))


@contextmanager
def handed_on(ready: ValidatedInputs) -> Iterator[None]:
    """Let a flow that this process runs inside the ``with`` take what its command has checked."""
    _handed_on.append(ready)
    try:
        yield
    finally:
        _handed_on.clear()


def take_checked(settings: Settings) -> ValidatedInputs | None:
    """Return the inputs that this process's command checked by these settings, once."""
    ready = _handed_on.pop() if _handed_on else None
    return ready if ready and ready.given == settings else None


def check_source(settings: Settings) -> Readable:
    """Return the source; check it, the encoders that find its candidates, the methods to score.

    This and the functions below check what a flow needs, as far as names, files and folders go.

    Raises:
        UnknownNameError: Nothing has a name.
        EncoderError: An encoder has no checkpoint here and is published nowhere.
        SettingsError: Options contradict each other, or do not fit what they are of.
        SourceError: A file or folder is missing, or is not of its kind.
    """
    search = settings.search
    _check_checkpoints(search.encoders, settings.encoder)
    products = [name for name in search.encoders if encoders.get(name).spec.similarity == "product"]
    if products and len(search.encoders) > 1 and search.fusion == "mean":
        raise SettingsError(
            f"encoder {products[0]} is compared by products, whose mean with other similarities "
            "says nothing: name it alone, or set COSQA_SEARCH__FUSION=scaled"
        )
    _checked_methods(settings.scoring)
    return open_source(settings.source)


def check_model_name(llm: LanguageModelSettings, *, needs_key: bool = False) -> None:
    """Refuse a model of which no provider is known, or that has no key where it must have one."""
    from agents import check_model, check_name  # noqa: PLC0415 - takes a fifth of a second

    (check_model if needs_key else check_name)(llm)


def check_judging(settings: Settings) -> Readable:
    """Return the source; check it, and that agents judge no code of which all is unlicensed.

    Raises:
        SourceError: The input, or the file of CodeSearchNet's licences, is not there.
    """
    opened = check_source(settings)
    if settings.annotation.agents and not settings.publish.include_unlicensed:
        for each in opened.sources if isinstance(opened, CombinedSource) else (opened,):
            if isinstance(each, CodeSearchNetSource):
                each.require_licences()
    return opened


def check_lines(source: SourceSettings, opened: Readable) -> None:
    """Read the first lines of the JSON Lines that a source reads, and all of its queries.

    Raises:
        SourceError: A line is malformed; the message names it.
    """
    queries, _ = SourceRefs.of(source)
    file = source.options.get("queries")
    if file and queries is None and not asks_written(source):
        read_queries(Path(str(file)))
    if isinstance(opened, JsonLinesSource):
        opened.check_lines(_FIRST_LINES)


def unnamed_input(source: SourceSettings, opened: Readable) -> str:
    """Return the default input with its size; "" if an input is named."""
    if source.codes or not {"path", "distribution"}.isdisjoint(source.options):
        return ""
    if not isinstance(opened, JsonLinesSource | SourceCode):
        return ""
    what = "the packaged sample" if source.name == "stdlib-sample" else "Python's standard library"
    files = opened.inputs()
    size = sum(file.stat().st_size for file in files) / 1e6
    read = f"{counted(len(files), 'files')}, {size:,.1f} MB"
    return f"{what} is read ({read}); --path names your own code"


def check_challenge(settings: Settings) -> Readable:
    """Return the source whose codes are ranked; check it, and the folder of the rankings."""
    opened = check_source(settings)
    _check_output(settings.publish.folder)
    return opened


def check_comparison(
    settings: Settings, benchmarks: Sequence[Path], runs: Sequence[Path] = ()
) -> None:
    """Check the methods to compare, the benchmarks' folders, and TREC runs of other methods."""
    _check_output(settings.publish.folder)
    methods = _checked_methods(settings.scoring, runs)
    for folder in benchmarks:
        check_folder(folder)
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
        read_run(run)  # which refuses a malformed one


def check_estimate(settings: Settings, files: Sequence[Path]) -> None:
    """Check the encoders, the metrics, and the files of training pairs and queries."""
    _check_output(settings.publish.folder)
    methods = encoders_to_estimate(settings.scoring)
    _check_checkpoints(methods, settings.encoder)
    for metric in settings.estimation.metrics:
        measure_named(metric)
    _check_are_there(files)


def check_training(
    settings: Settings,
    data: Mapping[str, Path],
    test: Path | None = None,
    bases: Sequence[str] = (),
) -> None:
    """Check the data sets by name, a benchmark to test on, and the bases, else the settings'."""
    _check_output(settings.publish.folder)
    training, recipe = settings.training, settings.training.recipe
    if recipe and recipe not in RECIPES:
        raise UnknownNameError(unknown_name("recipe", recipe, list(RECIPES)))
    if training.name.lower() in map(str.lower, (*encoders.registered(), *retrievers.names())):
        raise SettingsError(f"--name {training.name} is that of another method: give another")
    used = _encoders_in(settings.evaluation.methods)
    for base in bases or [training.base]:
        if is_untrained(base):
            if recipe and models.get(base).recipe.loss == "none":
                raise SettingsError(
                    f"{base} is made of all pairs at once: leave --recipe {recipe} out"
                )
            continue
        if not encoders.has(base):
            raise UnknownNameError(unknown_name("base", base, [*encoders, *models]))
        check_trainable(base, encoders.get(base))
        used.append(base)
    _check_checkpoints(used, settings.encoder)
    _check_data_names(data)
    _check_are_there(data.values())
    if test:
        check_folder(test)
        _check_has_labels(test)


def _check_has_labels(test: Path) -> None:
    """Refuse a benchmark to test on whose labels are all sealed."""
    if is_export(test):
        manifest = read_manifest(test)
        if manifest.sealed and not manifest.counts["labels"]:
            raise PublishError(
                f"the labels of {manifest.name} are sealed: give another benchmark with --test"
            )


def check_kape(settings: Settings, data: Mapping[str, Path]) -> None:
    """Check the encoders to study, and by name the folders with training and test pairs."""
    _check_output(settings.publish.folder)
    _check_checkpoints(settings.search.encoders, settings.encoder)
    _check_data_names(data)
    for folder in data.values():
        split_path(folder, "train")
        split_path(folder, "test")
        find_split(folder, "valid")


def _check_output(folder: Path) -> None:
    """Refuse a folder that cannot be made or written, before the work that ends there."""
    absolute = folder.absolute()
    there = next(path for path in (absolute, *absolute.parents) if os.access(path, os.F_OK))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        problem = "may not be written" if there.is_dir() else "is no folder"
        raise SettingsError(
            f"--output {printable(folder)}: {printable(there)} {problem}; choose another folder"
        )


def whole_corpus(source: SourceSettings) -> SourceSettings:
    """Return the source of a challenge, which holds all functions of its languages.

    CodeSearchNet's rules hold: of definitions as published all, also those in Python 2; of source
    code all but special methods and near duplicates.
    """
    usual: dict[str, object] = {}
    if source.name == "codesearchnet":
        usual = {"languages": LANGUAGES, "part": "definitions", "filters": ()}
    elif source.name == "source-code":
        usual = {"filters": ("special-methods", "near-duplicates")}
    return SourceSettings.model_validate(usual | source.model_dump(exclude_unset=True))


def _checked_methods(scoring: ScoringSettings, runs: Sequence[Path] = ()) -> list[str]:
    """Return the methods to score, whose encoders have checkpoints; check metrics and answers."""
    if scoring.evaluation.answers:
        read_answers(scoring.evaluation.answers)
    methods = chosen_methods(scoring, runs)
    _check_checkpoints(_encoders_in(methods), scoring.encoder)
    for metric in scoring.evaluation.metrics:
        Variant.parse(metric)
    return methods


def _encoders_in(methods: Iterable[str]) -> list[str]:
    names = chain.from_iterable(map(components, methods))
    return [name for name in names if encoders.has(name)]


def _check_checkpoints(names: Iterable[str], encoder: EncoderSettings) -> None:
    """Refuse an encoder that is unknown, or has no checkpoint here and is published nowhere."""
    for name in names:
        revision = encoders.get(name).spec.revision
        if revision == NOT_PUBLISHED and name not in encoder.checkpoints:
            raise EncoderError(not_published(name))


def encoders_to_estimate(scoring: ScoringSettings) -> list[str]:
    """Return the methods whose scores are estimated: those of the settings, else the encoders."""
    methods = list(dict.fromkeys(scoring.evaluation.methods or scoring.search.encoders))
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
    """Refuse a folder that is not a benchmark, and an export whose manifest is damaged."""
    if not folder.exists():
        raise SourceError(f"{folder} is not a benchmark: there is no such folder")
    if not benchmark_at(folder, usual="test"):
        signs = " nor ".join(benchmark_signs())
        raise SourceError(f"{folder} is not a benchmark: it has neither {signs}")
    if is_export(folder):
        read_manifest(folder)


def _check_are_there(paths: Iterable[Path]) -> None:
    for path in paths:
        if not path.exists():
            raise SourceError(f"{printable(path)} cannot be read: there is no such file or folder")


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


def with_named_encoders(settings: Settings) -> Settings:
    """Return the settings with each reference to an encoder replaced by the encoder's name.

    From then on this process finds the encoders by these names, which files and columns are called
    by, and checkpoints where the settings say.
    """
    encoders.substitute(settings.encoder.checkpoints)
    references: dict[str, str] = {}

    def name_of(encoder: str) -> str:
        name = (pair_models if pair_models.has(encoder) else encoders).adopt(encoder)
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
