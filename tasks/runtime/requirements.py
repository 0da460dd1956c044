"""What a preset needs and this machine lacks: files, checkpoints, the model's key."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import cast

from agents import check_model
from infra.errors import CosqaError
from infra.settings import Settings
from infra.settings.presets import load_preset
from tasks.encoders import EncoderSpec, encoders
from tasks.ranking.methods import components
from tasks.runtime.input_checks import check_checkpoint, check_licences, openings

_HUB_COMMIT = re.compile(r"[0-9a-f]{40}")


def missing_requirements(settings: Settings, *, judging: bool = True) -> list[str]:
    """Return a sentence for each thing that is missing, with where it is published.

    What is fetched by itself at its first use is not missing.

    Args:
        settings: Settings with a preset.
        judging: Whether a language model is going to judge pairs.
    """
    published = load_preset(settings.preset).published if settings.preset else {}
    found = []
    for name, check in _checks(settings, judging=judging):
        try:
            check()
        except CosqaError as error:
            place = f"\n  published: {published[name]}" if name in published else ""
            found.append(f"{error}{place}")
    return found


def fetched_at_first_use(settings: Settings) -> list[str]:
    """Return the hub's ids of the encoders whose checkpoints are yet to be fetched."""
    given = [encoders.get(name).spec.revision for name in settings.encoder.checkpoints]
    specs = [encoders.get(name).spec for name in _encoders(settings)]
    wanted = [
        spec.model for spec in specs if spec.revision not in given and _is_to_be_fetched(spec)
    ]
    return list(dict.fromkeys(wanted))


def departures(settings: Settings) -> list[str]:
    """Return the keys of the preset, as section.key, that are set otherwise elsewhere.

    A folder that is given for a source is no departure.
    """
    sections = load_preset(settings.preset).sections if settings.preset else {}
    return [
        f"{section}.{key}"
        for section, values in sections.items()
        for key, value in values.items()
        if _departs(getattr(getattr(settings, section), key), value)
    ]


def _departs(value: object, preset: object) -> bool:
    if isinstance(preset, dict):
        return not (isinstance(value, Mapping) and preset.items() <= dict(value).items())
    if isinstance(preset, list):
        given = cast("tuple[str, ...]", value)
        return list(given) != preset and [item.partition("=")[0] for item in given] != preset
    return str(value).partition("=")[0] != str(preset)


def _checks(settings: Settings, *, judging: bool) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the name of each requirement and the call that raises where it is missing."""
    for name, opening in openings(settings.source):
        yield name, partial(check_licences, opening)
    for name in _encoders(settings):
        yield name, partial(check_checkpoint, name, settings.encoder)
        if encoders.get(name).spec.is_api:
            yield name, partial(check_model, settings.encoder.of_api(encoders.get(name).spec.model))
    if judging:
        yield "model", partial(check_model, settings.llm)


def _encoders(settings: Settings) -> list[str]:
    """Return the encoders that candidates are found by and methods are made of."""
    methods = (components(method) for method in settings.evaluation.methods)
    names = dict.fromkeys(chain(settings.search.encoders, *methods))
    return [name for name in names if encoders.has(name)]


def _is_to_be_fetched(spec: EncoderSpec) -> bool:
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - only where it is used

    if not _HUB_COMMIT.fullmatch(spec.revision):
        return False
    return try_to_load_from_cache(spec.model, "config.json", revision=spec.revision) is None
