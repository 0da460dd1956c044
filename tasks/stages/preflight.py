"""Checks that run once, before a flow starts: names, files, the model's key, the engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from pydantic import SecretStr

from agents import check_model
from infra.errors import SettingsError
from infra.settings import (
    CommitteeSettings,
    Configuration,
    EncoderSettings,
    LanguageModelSettings,
    Settings,
    StoreSettings,
    load_settings,
)
from infra.settings.section import clean_key
from infra.store import Database, open_database
from tasks.reports.plan import RunPlan
from tasks.runtime.caching import draw_arrows_by_steps
from tasks.runtime.input_checks import check_source, with_named_encoders
from tasks.runtime.progress import begin_stages
from tasks.runtime.references import CollectedSource, RecipeReference
from tasks.sources import open_source
from tasks.stages.annotate.plan import current_recipe, pending_rounds, plan_of
from tasks.stages.annotate.run import AnnotationRun
from tasks.stages.candidates import search_of
from tasks.stages.collect import stored_collections

NO_AGENTS = (
    "annotation.agents is false, since the source's own labels are published; "
    "COSQA_ANNOTATION__AGENTS=true lets the agents judge candidates too"
)


@dataclass(frozen=True)
class ValidatedInputs:
    """The validated inputs of a flow.

    Attributes:
        settings: The settings, with the model's key if that is in a Prefect block.
        database: The store.
    """

    settings: Settings
    database: Database

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the source's content when it was first asked for."""
        return open_source(self.settings.source).fingerprint()


def check_inputs(
    settings: Settings | None, check: Callable[[Settings], None] = check_source
) -> ValidatedInputs:
    """Check what a flow needs, and open the store.

    Args:
        settings: The flow's settings; None reads them from file and environment.
        check: Checks names, files and folders, and raises.

    Raises:
        UnknownNameError: There is no such source, encoder or retrieval method.
        SourceError: An input file is missing.
        StoreError: The store cannot be opened.
    """
    ready = _loaded(settings)
    check(ready)
    database = open_database(ready.store)
    draw_arrows_by_steps()
    begin_stages()
    return ValidatedInputs(ready, database)


def collected_source(ready: ValidatedInputs) -> CollectedSource:
    """Return the stored collections of the source, with the search over them.

    Raises:
        StoreError: The source has not been collected, or has changed since.
    """
    chosen, database = ready.settings, ready.database
    collections = stored_collections(database, chosen.source, ready.fingerprint)
    search = search_of(database, collections[0], chosen.search)
    return CollectedSource(collections=tuple(collections), search=search)


def check_agents(committee: CommitteeSettings, *, to_run: bool = True) -> RecipeReference:
    """Return the recipe of the first labelling round, after checking the model and the engine.

    Args:
        committee: Model, configuration and sandbox.
        to_run: Check that the model has a key and the engine's boxes show all that they must; a
            plan needs neither.
    """
    if not committee.annotation.agents:
        raise SettingsError(f"the agents judge nothing: {NO_AGENTS}")
    if to_run:
        check_model(committee.llm)
    return current_recipe(committee, require_shown=to_run)


def annotation_plan(settings: Settings) -> RunPlan:
    """Return the plan of an annotation run by these settings, of which nothing is run or stored."""
    ready = check_inputs(settings)
    recipe = check_agents(ready.settings.committee, to_run=False)
    run = AnnotationRun.of(collected_source(ready).search, recipe, ready.settings)
    return plan_of(ready.database, run, pending_rounds(ready.database, run))


def needs_server(llm: LanguageModelSettings, encoder: EncoderSettings) -> bool:
    """Return True if a Prefect server alone knows a key: it is in a block."""
    return any(each.api_key_block and not each.api_key for each in (llm, encoder))


def check_annotators(
    settings: Settings | None, models: Sequence[str], configurations: Sequence[Configuration]
) -> tuple[StoreSettings, list[tuple[CommitteeSettings, RecipeReference]]]:
    """Return the store, and committee and recipe of each annotator to compare, all checked."""
    from tasks.stages.compare_annotators import committees_of  # noqa: PLC0415 - imports Prefect

    loaded = _loaded(settings)
    models = models or [loaded.llm.model]
    committees = list(committees_of(loaded.committee, models, configurations))
    for each in committees:
        check_model(each.llm)
    return loaded.store, [(each, current_recipe(each, require_shown=True)) for each in committees]


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
    from prefect.blocks.system import Secret  # noqa: PLC0415 - takes a second

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
