"""Checks that run once, before a flow starts: names, files, the model's key, the engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from prefect.blocks.system import Secret
from pydantic import SecretStr

from agents import check_model
from infra.errors import SettingsError
from infra.settings import Settings, load_settings
from infra.store import Database, open_database
from tasks.ranking.methods import RERANKED
from tasks.runtime.input_checks import check_comparison_input, check_pipeline_input
from tasks.runtime.references import CollectedSource, RecipeReference
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.candidates import search_of
from tasks.stages.collect import stored_collections


@dataclass(frozen=True)
class Ready:
    """What a flow starts with, once it has been checked.

    Attributes:
        settings: With the model's key, where a Prefect block holds it.
        database: The store.
        fingerprint: Of what the source reads now; empty for a flow that reads none.
    """

    settings: Settings
    database: Database
    fingerprint: str = ""


def check_ready(settings: Settings | None) -> Ready:
    """Return what a flow over a source starts with.

    Args:
        settings: What the flow was given; read from file and environment when None.

    Raises:
        UnknownNameError: There is no such source, encoder or retrieval method.
        SourceError: An input file is missing.
        StoreError: The store cannot be opened.
    """
    settings = _loaded(settings)
    source = check_pipeline_input(settings)
    return Ready(settings, open_database(settings.store), source.fingerprint())


def collected_source(ready: Ready) -> CollectedSource:
    """Return what an earlier run collected of the source, with the search that is meant.

    Raises:
        StoreError: The source has not been collected, or has changed since.
    """
    settings, database = ready.settings, ready.database
    collections = stored_collections(database, settings.source, ready.fingerprint)
    search = search_of(database, collections[0], settings.search)
    return CollectedSource(collections=tuple(collections), search=search)


def check_agents(settings: Settings) -> RecipeReference:
    """Return the recipe of the agents, once model and engine have been checked.

    Raises:
        SettingsError: The language model's name or key cannot be right.
        EngineUnavailableError: No Docker engine answers.
        ImageMissingError: The sandbox image is not there.
    """
    check_model(settings.llm)
    return current_recipe(settings)


def check_comparison(
    settings: Settings | None, benchmarks: Sequence[Path], runs: Sequence[Path] = ()
) -> Ready:
    """Return what a comparison of methods on benchmarks that are folders starts with.

    Args:
        settings: What the flow was given; read from file and environment when None.
        benchmarks: The folders.
        runs: Rankings that were made elsewhere.

    Raises:
        UnknownNameError: There is no such method or metric.
        SourceError: A folder is no benchmark, or a run is not there.
        SettingsError: Two methods or runs have one name; or a method needs a language model whose
            name or key cannot be right.
    """
    settings = _loaded(settings)
    methods = check_comparison_input(settings, benchmarks, runs)
    if any(method.startswith(RERANKED) for method in methods):
        check_model(settings.llm)
    return Ready(settings, open_database(settings.store))


def _loaded(settings: Settings | None) -> Settings:
    """Return the settings with the model's key, if a Prefect Secret block holds it."""
    settings = settings or load_settings()
    block = settings.llm.api_key_block
    if not block or settings.llm.api_key:
        return settings
    try:
        secret = cast("Secret[str]", Secret.load(block))
    except ValueError as error:
        raise SettingsError(
            f"llm.api_key_block: there is no Secret block {block!r} on the Prefect server; make "
            "one, or set COSQA_LLM__API_KEY"
        ) from error
    llm = settings.llm.model_copy(update={"api_key": SecretStr(secret.get())})
    return settings.model_copy(update={"llm": llm})
