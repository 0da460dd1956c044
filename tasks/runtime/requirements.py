"""What a preset needs and this machine lacks: files, checkpoints, the model's key."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

from agents import check_model
from infra.errors import CosqaError, EncoderError
from infra.settings import EncoderSettings, Settings
from infra.settings.presets import load_preset
from tasks.encoders import NOT_PUBLISHED, EncoderSpec, encoders
from tasks.ranking.methods import components
from tasks.sources import Parts, open_source

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
    specs = [encoders.get(name).spec for name in settings.search.encoders]
    return [spec.model for spec in specs if _is_to_be_fetched(spec)]


def _checks(settings: Settings, *, judging: bool) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the name of each requirement and the call that raises where it is missing."""
    queries, codes = Parts.of(settings.source)
    parts = [part for part in (queries, *codes) if part]
    for part in parts:
        yield part.name, partial(part.open, settings.source)
    if not parts:
        yield settings.source.name, partial(open_source, settings.source)
    methods = (components(method) for method in settings.evaluation.methods)
    for name in dict.fromkeys(chain(settings.search.encoders, *methods)):
        if encoders.has(name):
            yield name, partial(_require_checkpoint, name, settings.encoder)
    if judging:
        yield "model", partial(check_model, settings.llm)


def _require_checkpoint(name: str, settings: EncoderSettings) -> None:
    is_given = name in settings.checkpoints
    if not is_given and encoders.get(name).spec.revision == NOT_PUBLISHED:
        raise EncoderError(
            f"encoder {name} has no published checkpoint: give --checkpoint {name}=FOLDER"
        )


def _is_to_be_fetched(spec: EncoderSpec) -> bool:
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - only where it is used

    if not _HUB_COMMIT.fullmatch(spec.revision):
        return False
    return try_to_load_from_cache(spec.model, "config.json", revision=spec.revision) is None
