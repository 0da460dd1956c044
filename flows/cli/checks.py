"""Checks that a command makes before Prefect is imported, so that a mistake is answered at once."""

from flows.cli.output import say
from infra.errors import CosqaError, SettingsError, SourceError
from infra.settings import Settings
from infra.settings.presets import load_preset
from infra.store import open_database, require_store
from infra.store.runs import require_no_writer
from tasks.runtime.input_checks import (
    check_lines,
    check_source,
    require_licences,
    unnamed_input,
)
from tasks.sources import open_source
from tasks.stages.collect import stored_collections

_READ_THE_STORE = ("annotate", "publish", "evaluate", "generate", "study")
_JUDGE = ("benchmark", "annotate")
_WRITE = ("benchmark", "collect", "annotate", "generate")
_READ_THE_SOURCE = ("benchmark", "collect")


def pipeline(command: str, settings: Settings, *, is_plan: bool = False) -> None:
    """Check the names, the input, and the store where the command goes on from one.

    Where something is missing, the error says where the preset's parts are published.
    """
    judging = command in _JUDGE and settings.annotation.agents
    if judging or command == "generate":
        settings.llm.require_model()
    try:
        check_source(settings)
        if not is_plan:
            check_lines(settings.source)
    except CosqaError as error:
        places = load_preset(settings.preset).published if settings.preset else {}
        if not places:
            raise
        listed = "\n".join(f"- {name}: {place}" for name, place in places.items())
        raise SettingsError(
            f"{error}\npreset {settings.preset} needs, published at:\n{listed}"
        ) from None
    _check_licences(settings, judging=judging)
    if not is_plan:
        _check_store(command, settings)
    if command in _READ_THE_SOURCE and (unnamed := unnamed_input(settings.source)):
        say(f"No code is named: {unnamed}.")


def _check_licences(settings: Settings, *, judging: bool) -> None:
    if settings.preset and settings.publish.include_unlicensed:
        say("code of unknown or forbidding licences is exported: keep it for private use")
    if judging and not settings.publish.include_unlicensed:
        try:
            require_licences(settings.source)
        except SourceError as error:
            way_out = "give --include-unlicensed for private use"
            raise SourceError(f"{error}, or {way_out}") from None


def _check_store(command: str, settings: Settings) -> None:
    """Check that no other run writes what this one is to write, and that it has what it reads."""
    if command in _WRITE:
        require_no_writer(settings.store)
    if command in _READ_THE_STORE:
        require_store(settings.store)
        fingerprint = open_source(settings.source).fingerprint()
        stored_collections(open_database(settings.store), settings.source, fingerprint)
