"""Checks that a command makes before Prefect is imported, so that a mistake is answered at once."""

from collections.abc import Sequence
from pathlib import Path

from flows.cli.output import say
from infra.draws import Draw
from infra.errors import CosqaError, SettingsError, SourceError
from infra.outputs import require_writable
from infra.settings import Settings
from infra.settings.presets import load_preset
from infra.store import require_store
from tasks.benchmarks.labelled_pairs import read_truth
from tasks.runtime.input_checks import check_source, require_licences

_READ_THE_STORE = ("annotate", "publish", "evaluate")
_JUDGE = ("benchmark", "annotate")


def pipeline(command: str, settings: Settings, *, is_plan: bool) -> None:
    """Check the names, the input, and the store where the command goes on from one."""
    judging = command in _JUDGE and settings.annotation.agents
    _check_source(settings)
    if judging and not settings.publish.include_unlicensed:
        try:
            require_licences(settings.source)
        except SourceError as error:
            way_out = "give --include-unlicensed for private use"
            raise SourceError(f"{error}, or {way_out}") from None
    if judging:
        settings.llm.require_model()
    if command in _READ_THE_STORE and not is_plan:
        require_store(settings.store)


def _check_source(settings: Settings) -> None:
    """Check the source; where something is missing, say where the preset's parts are published."""
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


def study(settings: Settings, files: Sequence[Path | None]) -> None:
    """Check the names, the input, the store, and the files of further figures."""
    _check_source(settings)
    require_store(settings.store)
    for file in files:
        if file is not None and not file.is_file():
            raise SourceError(f"{file} cannot be read: there is no such file")


def generation(settings: Settings, *, is_reading: bool) -> None:
    """Check the store, and the input unless a sheet is read back."""
    if not is_reading:
        _check_source(settings)
        settings.llm.require_model()
    require_store(settings.store)


def compare_annotators(
    settings: Settings, truth: Path, limit: int | None, output: Path | None
) -> None:
    """Check the file of pairs with known labels, and make the folder of the output."""
    if output:
        require_writable(output)
    read_truth(truth, Draw(limit, settings.annotation.seed))
