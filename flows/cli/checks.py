"""Checks that a command makes before Prefect is imported, so that a mistake is answered at once."""

from collections.abc import Callable

from flows.cli.output import say
from infra.errors import CosqaError, SettingsError
from infra.settings import Settings
from infra.settings.presets import load_preset
from infra.store import require_store
from infra.store.database_file import require_no_writer
from tasks.corpus.merging import Readable
from tasks.runtime.input_checks import (
    ValidatedInputs,
    check,
    check_judging,
    check_lines,
    check_source,
    unnamed_input,
)
from tasks.sources import lacks_written
from tasks.stages.collect import stored_collections

_READ_THE_STORE = ("annotate", "publish", "evaluate", "generate", "study")
JUDGING = ("benchmark", "annotate")
_WRITE = ("benchmark", "collect", "annotate", "generate")
COLLECTING = ("benchmark", "collect")


def pipeline(command: str, settings: Settings, *, is_plan: bool = False) -> ValidatedInputs:
    """Return the validated inputs: names, input, and the store where the command goes on from one.

    Where something is missing, the error says where the preset's parts are published.
    """
    if (command in JUDGING and settings.annotation.agents) or command == "generate":
        settings.llm.require_model()
    needs = check_judging if command in JUDGING else check_source
    ready = _checked(settings, needs, is_plan=is_plan)
    if command in COLLECTING and lacks_written(ready.settings.source):
        settings.llm.require_model()
    if settings.preset and settings.publish.include_unlicensed:
        say("code of unknown or forbidding licences is exported: keep it for private use")
    given = ready.given  # its store's folder is called as the user has
    if not is_plan and command in _WRITE:
        require_no_writer(given.store)
    if command in _READ_THE_STORE:
        require_store(given.store)
    if not is_plan and command in _READ_THE_STORE:
        stored_collections(ready.database, given.source, ready.fingerprint)
    unnamed = command in COLLECTING and unnamed_input(settings.source, ready.opened)
    if unnamed:
        say(f"No code is named: {unnamed}.")
    return ready


def _checked(
    settings: Settings, needs: Callable[[Settings], Readable], *, is_plan: bool
) -> ValidatedInputs:
    def opened(named: Settings) -> Readable:
        source = needs(named)
        if not is_plan:
            check_lines(named.source, source)
        return source

    try:
        return check(settings, opened)
    except CosqaError as error:
        places = load_preset(settings.preset).published if settings.preset else {}
        if not places:
            raise
        listed = "\n".join(f"- {name}: {place}" for name, place in places.items())
        raise SettingsError(
            f"{error}\npreset {settings.preset} needs, published at:\n{listed}"
        ) from None
