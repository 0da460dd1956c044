"""What a preset needs and this machine lacks: files, checkpoints, the model's key."""

import re
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain

from agents import check_model
from infra.errors import CosqaError
from infra.settings import EvaluationSettings, SearchSettings, Settings
from infra.settings.presets import load_preset
from tasks.encoders import encoders
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
    checks: list[tuple[str, Callable[[], object]]] = [
        (name, partial(check_licences, opening)) for name, opening in openings(settings.source)
    ]
    for name in _encoders(settings.search, settings.evaluation):
        checks.append((name, partial(check_checkpoint, name, settings.encoder)))
        if encoders.get(name).spec.is_api:
            model = settings.encoder.of_api(encoders.get(name).spec.model)
            checks.append((name, partial(check_model, model)))
    if judging:
        checks.append(("model", partial(check_model, settings.llm)))
    found = []
    for name, check in checks:
        try:
            check()
        except CosqaError as error:
            place = f"\n  published: {published[name]}" if name in published else ""
            found.append(f"{error}{place}")
    return found


def fetched_at_first_use(
    search: SearchSettings, evaluation: EvaluationSettings, checkpoints: Iterable[str]
) -> list[str]:
    """Return the hub's ids of the encoders whose checkpoints are yet to be fetched.

    Args:
        search: The encoders that find candidates.
        evaluation: The methods.
        checkpoints: The encoders whose checkpoints are given.
    """
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - only where it is used

    given = [encoders.get(name).spec.revision for name in checkpoints]
    specs = [encoders.get(name).spec for name in _encoders(search, evaluation)]
    wanted = [
        spec.model
        for spec in specs
        if spec.revision not in given
        and _HUB_COMMIT.fullmatch(spec.revision)
        and try_to_load_from_cache(spec.model, "config.json", revision=spec.revision) is None
    ]
    return list(dict.fromkeys(wanted))


def _encoders(search: SearchSettings, evaluation: EvaluationSettings) -> list[str]:
    """Return the encoders that candidates are found by and methods are made of."""
    names = dict.fromkeys(chain(search.encoders, *map(components, evaluation.methods)))
    return [name for name in names if encoders.has(name)]
