"""Annotations of labelled pairs, made in this process."""

from collections.abc import Sequence

from infra.records import Annotation
from infra.settings import Settings
from infra.store import annotations, open_database
from tasks.inputs.pairs import TruePair
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.compare_annotators import annotate_in_process


def judged(truth: Sequence[TruePair], settings: Settings) -> list[Annotation]:
    """Return the annotations of the pairs by the agents that the settings mean."""
    recipe = current_recipe(settings.committee)
    annotations.record_pairs(open_database(settings.store), [item.pair for item in truth])
    annotate_in_process([item.pair for item in truth], recipe, settings.committee, settings.store)
    keys = [item.key for item in truth]
    return annotations.load_annotations(open_database(settings.store), recipe.recipe_id, keys)
