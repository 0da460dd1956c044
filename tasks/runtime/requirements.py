"""What a preset needs and this machine lacks: files, checkpoints, the model's key."""

from collections.abc import Callable
from functools import partial
from itertools import chain

from agents import check_model
from infra.errors import CosqaError
from infra.settings import Settings
from infra.settings.presets import load_preset
from tasks.encoders import encoders
from tasks.ranking.methods import components
from tasks.runtime.input_checks import check_checkpoint, check_licences, openings


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
    methods = settings.evaluation.methods
    named = dict.fromkeys(chain(settings.search.encoders, *map(components, methods)))
    for name in filter(encoders.has, named):
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
