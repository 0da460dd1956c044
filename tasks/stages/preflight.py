"""Checks that run once, before a flow starts: names, files, the model's key, the engine."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from prefect.blocks.system import Secret
from pydantic import SecretStr

from agents import check_model
from infra.collected import Item
from infra.errors import SettingsError
from infra.records import Code, Query
from infra.settings import Configuration, Settings, StoreSettings, load_settings
from infra.settings.section import clean_key
from infra.store import Database, corpus, open_database
from tasks.reports.plan import RunPlan
from tasks.runtime.caching import prepare_run
from tasks.runtime.input_checks import (
    check_comparison_input,
    check_estimate_input,
    check_pipeline_input,
    check_study_data,
    check_training_input,
    with_named_encoders,
)
from tasks.runtime.progress import show_progress_in
from tasks.runtime.references import CollectedSource, RecipeReference
from tasks.sources import open_source
from tasks.stages.annotate.pending import counted, refuse_others
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.annotate.run import AnnotationRun, rounds_of
from tasks.stages.annotate.run_plan import plan_of, plan_of_size
from tasks.stages.candidates import search_of
from tasks.stages.collect import as_collected, stored_collections
from tasks.stages.compare_annotators import settings_of_annotators
from tasks.stages.generate.write import verifying_settings

NO_AGENTS = (
    "annotation.agents is false, since the source's own labels are published; "
    "COSQA_ANNOTATION__AGENTS=true lets the agents judge candidates too"
)


@dataclass(frozen=True)
class Ready:
    """The checked inputs of a flow.

    Attributes:
        settings: The settings, with the model's key if that is in a Prefect block.
        database: The store.
        fingerprint: Digest of the source's current content; empty for a flow without a source.
    """

    settings: Settings
    database: Database
    fingerprint: str = ""


def check_ready(settings: Settings | None) -> Ready:
    """Check and return the inputs of a flow over a source.

    Args:
        settings: The flow's settings; None reads them from file and environment.

    Raises:
        UnknownNameError: There is no such source, encoder or retrieval method.
        SourceError: An input file is missing.
        StoreError: The store cannot be opened.
    """
    settings = _loaded(settings)
    check_pipeline_input(settings)
    database = _opened(settings.store)
    source, fingerprint = as_collected(database, settings.source)
    return Ready(settings.model_copy(update={"source": source}), database, fingerprint)


def _opened(store: StoreSettings) -> Database:
    """Return a flow's store, beside which its stages show how far they are."""
    database = open_database(store)
    prepare_run(store)
    show_progress_in(store)
    return database


def collected_source(ready: Ready) -> CollectedSource:
    """Return the stored collections of the source, with the search over them.

    Where no input is named, and the store has that of one source, it is meant.

    Raises:
        StoreError: The source has not been collected, or has changed since.
    """
    settings, database = ready.settings, ready.database
    fingerprint = _alone(database, settings) or ready.fingerprint
    collections = stored_collections(database, settings.source, fingerprint)
    search = search_of(database, collections[0], settings.search)
    return CollectedSource(collections=tuple(collections), search=search)


def _alone(database: Database, settings: Settings) -> str:
    """Return the fingerprint of a store's only source, if it is another one and none is named."""
    source = settings.source
    is_named = settings.preset != "sample" and source.model_fields_set
    known = corpus.collected_from(database)
    is_other = (source.collection or source.name) not in known
    return (
        next(iter(known.values()))
        if len({*known.values()}) == 1 and is_other and not is_named
        else ""
    )


def check_agents(settings: Settings) -> RecipeReference:
    """Check the model and the engine; return the recipe of the agents.

    Raises:
        SettingsError: The settings leave the agents out, or the language model's name or key is
            invalid.
        EngineUnavailableError: No Docker engine answers.
        ImageMissingError: The sandbox image is missing.
        SandboxError: The engine's boxes do not show what they must.
    """
    if settings.annotation.agents:
        check_model(settings.llm)
    return recipe_of_agents(settings, require_shown=True)


def recipe_of_agents(settings: Settings, *, require_shown: bool = False) -> RecipeReference:
    """Return the recipe of the first labelling round; errors are those of `check_agents`.

    Args:
        settings: The settings.
        require_shown: Make sure, too, that the engine's boxes show all that they must.
    """
    if not settings.annotation.agents:
        raise SettingsError(f"the agents judge nothing: {NO_AGENTS}")
    return rounds_of(current_recipe(settings, require_shown=require_shown), settings)[0]


def annotation_plan(settings: Settings) -> RunPlan:
    """Return the plan of an annotation run by these settings, of which nothing is run or stored.

    Before the source is collected, it is that of all its queries and candidates.

    Raises:
        SettingsError: The settings leave the agents out, or they do not know the code's language.
        SourceError: An input file is missing or malformed.
        EngineUnavailableError: No Docker engine answers, whose image decides what is stale.
    """
    if not settings.annotation.agents:
        raise SettingsError(f"the agents judge nothing: {NO_AGENTS}")
    database = _stored(settings)
    if database is None or not (
        _alone(database, settings)
        or corpus.collections_of(database, as_collected(database, settings.source)[1])
    ):
        name, content = next(iter(open_source(settings.source).read().items()))
        kinds: Counter[type[Item]] = Counter()
        written: Counter[str] = Counter()
        for item in content.items():
            kinds[type(item)] += 1
            written[item.language if isinstance(item, Code) else ""] += 1
        refuse_others(name, written)
        queries = min(kinds[Query], settings.annotation.limit or kinds[Query])
        pairs = queries * min(settings.search.top_k, kinds[Code])
        has_changed = database is not None and name in corpus.collected_from(database)
        return plan_of_size(database, name, pairs, settings, has_changed=has_changed)
    ready = check_ready(settings)
    recipe = recipe_of_agents(ready.settings)
    run = AnnotationRun(collected_source(ready).search, recipe, ready.settings)
    return plan_of(ready.database, counted(ready.database, run))


def _stored(settings: Settings) -> Database | None:
    return open_database(settings.store) if settings.store.database.is_file() else None


def needs_server(settings: Settings) -> bool:
    """Return whether a Prefect server alone knows a key: it is in a block."""
    return any(each.api_key_block and not each.api_key for each in (settings.llm, settings.encoder))


def check_generation(settings: Settings) -> None:
    """Check the model that writes answers, and the engine in which they are verified.

    Raises:
        SettingsError: The language model is recorded replies, or its name or key is invalid.
        EngineUnavailableError: No Docker engine answers.
        ImageMissingError: The sandbox image is missing.
    """
    check_agents(verifying_settings(settings))


def check_annotators(
    settings: Settings | None, models: Sequence[str], configurations: Sequence[Configuration]
) -> list[tuple[Settings, RecipeReference]]:
    """Return the settings and the recipe of each annotator to compare, all of them checked.

    Args:
        settings: The flow's settings; None reads them from file and environment.
        models: The models' names for litellm; none takes the one of the settings.
        configurations: The configurations of the agents.

    Raises:
        SettingsError: A model's name or key is invalid.
        EngineUnavailableError: No Docker engine answers.
        ImageMissingError: The sandbox image is missing.
        SandboxError: The engine's boxes do not show what they must.
    """
    loaded = _loaded(settings)
    models = models or [loaded.llm.model]
    annotators = list(settings_of_annotators(loaded, models, configurations))
    for asked in annotators:
        check_model(asked.llm)
    return [(asked, current_recipe(asked, require_shown=True)) for asked in annotators]


def check_comparison(
    settings: Settings | None, benchmarks: Sequence[Path], runs: Sequence[Path] = ()
) -> Ready:
    """Check and return the inputs of a flow that compares methods on benchmarks.

    Args:
        settings: The flow's settings; None reads them from file and environment.
        benchmarks: The folders of the benchmarks.
        runs: TREC runs of other methods.

    Raises:
        UnknownNameError: There is no such method or metric.
        SourceError: A folder is no benchmark, or a run is missing.
        SettingsError: Two methods or runs have one name.
    """
    settings = _loaded(settings)
    check_comparison_input(settings, benchmarks, runs)
    return Ready(settings, _opened(settings.store))


def check_estimate(
    settings: Settings | None, paths: Sequence[Path], judged: Path | None = None
) -> Ready:
    """Check and return the inputs of a flow that estimates scores.

    Args:
        settings: The flow's settings; None reads them from file and environment.
        paths: Training pairs and queries.
        judged: The benchmark of judged queries.

    Raises:
        UnknownNameError: There is no such method or metric.
        SettingsError: A method has no query vectors.
        SourceError: A path is not there, or the folder of judged queries is not a benchmark.
    """
    settings = _loaded(settings)
    check_estimate_input(settings, paths, judged)
    return Ready(settings, _opened(settings.store))


def check_kape_study(settings: Settings | None, data: Mapping[str, Path]) -> Ready:
    """Check and return the inputs of the study of KAPE and its rivals.

    Args:
        settings: The flow's settings; None reads them from file and environment.
        data: Name of a data set → folder with its training and test pairs.

    Raises:
        UnknownNameError: There is no such encoder.
        SettingsError: There is no data set, or its name is not fit for a file's.
        SourceError: A folder is missing, or has no training or no test pairs.
        StoreError: The store cannot be opened.
    """
    settings = _loaded(settings)
    check_study_data(settings, data)
    return Ready(settings, _opened(settings.store))


def check_training(
    settings: Settings | None,
    data: Mapping[str, Path],
    test: Path | None,
    bases: Sequence[str] = (),
) -> Ready:
    """Check and return the inputs of a flow that trains models.

    Args:
        settings: The flow's settings; None reads them from file and environment.
        data: Name of a data set → what is trained on.
        test: A benchmark to test on.
        bases: What is trained; none takes that of the settings.

    Raises:
        UnknownNameError: There is no such base or method.
        SettingsError: A base cannot be fine-tuned, there is no such recipe, or the name of a data
            set is not fit for a file's.
        SourceError: There is nothing at a path.
        StoreError: The store cannot be opened.
    """
    settings = _loaded(settings)
    check_training_input(settings, bases or [settings.training.base], data, test)
    return Ready(settings, _opened(settings.store))


def _loaded(settings: Settings | None) -> Settings:
    """Return the settings with encoders by name, and with keys that are in Prefect's blocks.

    The store's folder is absolute: workers of a cluster have working folders of their own.
    """
    settings = with_named_encoders(settings or load_settings())
    store = settings.store.model_copy(update={"folder": settings.store.folder.absolute()})
    settings = settings.model_copy(update={"store": store})
    for name, section in (("llm", settings.llm), ("encoder", settings.encoder)):
        if section.api_key_block and not section.api_key:
            key = _secret(name, section.api_key_block)
            with_key = section.model_copy(update={"api_key": key})
            settings = settings.model_copy(update={name: with_key})
    return settings


def _secret(section: str, block: str) -> SecretStr | None:
    try:
        secret = cast("Secret[str]", Secret.load(block))
    except ValueError as error:
        raise SettingsError(
            f"{section}.api_key_block: there is no Secret block {block!r} on the Prefect server; "
            f"create it, or set COSQA_{section.upper()}__API_KEY"
        ) from error
    try:
        return clean_key(SecretStr(secret.get()))
    except ValueError as error:
        raise SettingsError(f"{section}.api_key_block: {error}") from None
