"""Checks that a command makes before Prefect is imported, so that a mistake is answered at once."""

from flows.cli.output import say
from infra.errors import CosqaError, SettingsError, SourceError
from infra.settings import Settings
from infra.settings.presets import load_preset
from infra.store import require_store
from tasks.runtime.input_checks import check_source, require_licences

_READ_THE_STORE = ("annotate", "publish", "evaluate", "generate", "study")
_JUDGE = ("benchmark", "annotate")


def pipeline(command: str, settings: Settings, *, is_plan: bool = False) -> None:
    """Check the names, the input, and the store where the command goes on from one.

    Where something is missing, the error says where the preset's parts are published.
    """
    judging = command in _JUDGE and settings.annotation.agents
    try:
        check_source(settings)
    except CosqaError as error:
        places = load_preset(settings.preset).published if settings.preset else {}
        if not places:
            raise
        listed = "\n".join(f"- {name}: {place}" for name, place in places.items())
        raise SettingsError(
            f"{error}\npreset {settings.preset} needs, published at:\n{listed}"
        ) from None
    if settings.preset and settings.publish.include_unlicensed:
        say("code of unknown or forbidding licences is exported: keep it for private use")
    if judging and not settings.publish.include_unlicensed:
        try:
            require_licences(settings.source)
        except SourceError as error:
            way_out = "give --include-unlicensed for private use"
            raise SourceError(f"{error}, or {way_out}") from None
    if judging or command == "generate":
        settings.llm.require_model()
    if command in _READ_THE_STORE and not is_plan:
        require_store(settings.store)
