"""Checks that run once, before a flow starts: names, files, the model's key, the engine."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import cast

from pydantic import SecretStr

from agents import build_model, check_model, journal_ledger
from agents.llm.reply import RawReply
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
from infra.store import require_store
from tasks.reports.plan import RunPlan
from tasks.runtime.caching import draw_arrows_by_steps
from tasks.runtime.input_checks import (
    ValidatedInputs,
    check,
    check_source,
    take_checked,
    with_named_encoders,
)
from tasks.runtime.progress import begin_stages
from tasks.runtime.references import CollectedSource, RecipeReference
from tasks.stages.annotate.plan import AnnotationRun, current_recipe, pending_rounds, plan_of
from tasks.stages.candidates import search_of
from tasks.stages.collect import stored_collections
from tasks.stages.generate.queries import is_unwritten
from tasks.stages.generate.write import require_writer

NO_AGENTS = (
    "annotation.agents is false, since the source's own labels are published; "
    "COSQA_ANNOTATION__AGENTS=true lets the agents judge candidates too"
)


def check_inputs(
    settings: Settings | None,
    needs: Callable[[Settings], object] = check_source,
    *,
    opens_store: bool = True,
) -> ValidatedInputs:
    """Return the validated inputs of a flow: its command's, else those of a check; open the store.

    Args:
        settings: The flow's settings; None reads them from file and environment.
        needs: Checks names, files and folders, and returns what it has opened.
        opens_store: Whether the flow needs the store in any case, which is made if there is none.

    Raises:
        UnknownNameError: There is no such source, encoder or retrieval method.
        SourceError: An input file is missing.
        StoreError: The store cannot be opened.
    """
    given = settings or load_settings()
    ready = take_checked(given) or check(given, needs)
    with_key = _with_keys(ready.settings)
    if with_key is not ready.settings:
        ready = replace(ready, settings=with_key)
    if opens_store:
        _ = ready.database
    draw_arrows_by_steps()
    begin_stages()
    return ready


def collected_source(ready: ValidatedInputs) -> CollectedSource:
    """Return the stored collections of the source, with the search over them.

    Raises:
        StoreError: The source has not been collected, or has changed since.
    """
    chosen, database = ready.settings, ready.database
    collections = stored_collections(database, chosen.source, ready.fingerprint)
    search = search_of(database, collections[0], chosen.search)
    return CollectedSource(collections=tuple(collections), search=search)


def check_committee(ready: ValidatedInputs, committee: CommitteeSettings | None = None) -> None:
    """Check that the model answers and the engine's boxes suffice, before a server is started.

    The flow, to which the command hands the recipe on, does not check them again. Where a Prefect
    server alone knows the model's key, nothing is checked here: the flow does it.
    """
    if not needs_server(ready.settings.llm, ready.settings.encoder):
        check_agents(ready, committee, to_ask=True)


def check_agents(
    ready: ValidatedInputs,
    committee: CommitteeSettings | None = None,
    *,
    to_run: bool = True,
    to_ask: bool = False,
) -> RecipeReference:
    """Return the recipe of the first labelling round, after one check of the model and the engine.

    Args:
        ready: The checked inputs, which keep what a command has found for its flow.
        committee: Model, configuration and sandbox; None takes those of the settings.
        to_run: Check that the model has a key and the engine's boxes show all that they must; a
            plan needs neither.
        to_ask: Check that the model answers, too.
    """
    committee = committee or ready.settings.committee
    if not committee.annotation.agents:
        raise SettingsError(f"the agents judge nothing: {NO_AGENTS}")
    if not to_run:
        return current_recipe(committee, require_shown=False)
    if committee not in ready.recipes:
        if to_ask:
            check_answer(committee.llm, ready.settings.store)
        else:
            check_model(committee.llm)
    return _recipe(ready, committee)


def _recipe(ready: ValidatedInputs, committee: CommitteeSettings) -> RecipeReference:
    """Return the recipe of a committee, for which the engine is checked unless it was."""
    if committee not in ready.recipes:
        ready.recipes[committee] = current_recipe(committee, require_shown=True)
    return ready.recipes[committee]


@cache
def check_answer(llm: LanguageModelSettings, store: StoreSettings) -> None:
    """Check that a model answers, by one small request of this process.

    Raises:
        LanguageModelError: Its server is away, or refuses all requests.
    """
    check_model(llm)
    if not llm.is_recorded:
        asyncio.run(ask_once(llm, store))


async def ask_once(llm: LanguageModelSettings, store: StoreSettings) -> RawReply | None:
    """Return a model's reply to one small request, None where its server is busy or slow.

    Raises:
        LanguageModelError: Its server is away, or refuses all requests.
    """
    model = build_model(llm.model_copy(update={"max_retries": 0}), journal_ledger(store, llm))
    try:
        return await model.check_answer()
    finally:
        await model.close()


def check_writer(ready: ValidatedInputs) -> None:
    """Check that the model answers that is to write queries before a collection, if any is."""
    settings = ready.settings
    if is_unwritten(ready.database, settings.source, ready.fingerprint):
        settings.llm.require_model()
        require_writer(settings.llm)
        check_answer(settings.llm, settings.store)


def annotation_plan(ready: ValidatedInputs) -> RunPlan:
    """Return the plan of an annotation run by these inputs, of which nothing is run or stored."""
    recipe = check_agents(ready, to_run=False)
    require_store(ready.given.store)
    run = AnnotationRun.of(collected_source(ready).search, recipe, ready.settings)
    return plan_of(ready.database, run, pending_rounds(ready.database, run))


def checked_judge(settings: Settings) -> tuple[Settings, RecipeReference]:
    """Return settings with their keys, and the recipe of their agents, all checked."""
    loaded = _with_keys(with_named_encoders(settings))
    check_model(loaded.llm)
    return loaded, current_recipe(loaded.committee, require_shown=True)


def needs_server(llm: LanguageModelSettings, encoder: EncoderSettings) -> bool:
    """Return True if a Prefect server alone knows a key: it is in a block."""
    return any(each.api_key_block and not each.api_key for each in (llm, encoder))


def check_annotators(
    ready: ValidatedInputs, models: Sequence[str], configurations: Sequence[Configuration]
) -> list[tuple[CommitteeSettings, RecipeReference]]:
    """Return committee and recipe of each annotator to compare, all checked."""
    from tasks.stages.compare_annotators import committees_of  # noqa: PLC0415 - imports Prefect

    chosen = ready.settings
    committees = list(committees_of(chosen.committee, models or [chosen.llm.model], configurations))
    for each in committees:  # a wrong name is told before the first half minute of the engine
        check_answer(each.llm, chosen.store)
    return [(each, _recipe(ready, each)) for each in committees]


def _with_keys(settings: Settings) -> Settings:
    for name, section in (("llm", settings.llm), ("encoder", settings.encoder)):
        if not section.api_key_block or section.api_key:
            continue
        from prefect.blocks.system import Secret  # noqa: PLC0415 - takes a second

        try:
            secret = cast("Secret[str]", Secret.load(section.api_key_block))
        except ValueError as error:
            raise SettingsError(
                f"{name}.api_key_block: there is no Secret block {section.api_key_block!r} on the "
                f"Prefect server; create it, or set COSQA_{name.upper()}__API_KEY"
            ) from error
        try:
            key = clean_key(SecretStr(secret.get()))
        except ValueError as error:
            raise SettingsError(f"{name}.api_key_block: {error}") from None
        with_key = section.model_copy(update={"api_key": key})
        settings = settings.model_copy(update={name: with_key})
    return settings
