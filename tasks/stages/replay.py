"""Replay of all labels from the stored calls and executions, compared with the stored labels.

No model, no engine and no network take part, whatever the settings say: the store holds the recipe
of each label, and every reply and run behind it.
"""

import asyncio
from collections.abc import Iterator, Sequence

from agents.committee.configurations import CONFIGURATIONS
from agents.committee.recipe import gates_of
from agents.committee.replay import replayed
from infra.errors import ReplayError
from infra.identity import digest_of
from infra.ids import RecipeId
from infra.records import Annotation, Pair, Record
from infra.settings import Settings
from infra.store import Database, annotations, recipes

_BATCH = 1_000
_SHOWN = 5

Row = tuple[str, str, str, int | None, str]


class Replay(Record):
    """The outcome for a recipe's labels.

    Attributes:
        recipe_id: The recipe.
        model: The model that gave the replies.
        pairs: How many were derived again.
        digest: Of query, code, status, label and support of all of them, in the order of their ids.
        without_text: How many were not, since the store lacks the text of their query or code.
        made_by: The algorithm that made them, where it is another one, which alone can derive them.
    """

    recipe_id: str
    model: str
    pairs: int = 0
    digest: str = ""
    without_text: int = 0
    made_by: str = ""


def replay(database: Database, settings: Settings) -> Iterator[Replay]:
    """Derive the labels of every recipe in the store again, a recipe at a time.

    Args:
        database: The store.
        settings: What is no part of a recipe, such as paths.

    Raises:
        ReplayError: A derived label differs from the stored one.
    """
    for recipe_id in recipes.recipe_ids(database):
        recipe = recipes.load_recipe(database, recipe_id)
        chosen = _settings_of(recipe, settings)
        if recipe["algorithm"] != CONFIGURATIONS[chosen.annotation.configuration].algorithm:
            made_by = str(recipe["algorithm"])
            yield Replay(recipe_id=recipe_id, model=chosen.llm.model, made_by=made_by)
            continue
        stored, derived = [], []
        for pairs, made in _batches(database, recipe_id):
            again = asyncio.run(_derive(pairs, made, chosen))
            stored += [_row(item) for item in made]
            derived += [_row(item) for item in again]
        _compare(recipe_id, stored, derived)
        yield Replay(
            recipe_id=recipe_id,
            model=chosen.llm.model,
            pairs=len(derived),
            digest=digest_of(derived),
            without_text=len(annotations.finished_pairs(database, recipe_id)) - len(derived),
        )


def _settings_of(recipe: dict[str, object], settings: Settings) -> Settings:
    """Return the settings under which a recipe judged, as far as they matter without a box."""
    llm = settings.llm.model_validate(recipe["model"])
    given = {"configuration": recipe["configuration"], "max_try_time": recipe["max_try_time"]}
    judging = {name: value for name, value in given.items() if value is not None}
    return settings.model_copy(
        update={
            "llm": llm,
            "annotation": settings.annotation.model_validate(judging),
            "gates": gates_of(recipe),
        }
    )


def _batches(
    database: Database, recipe_id: RecipeId
) -> Iterator[tuple[Sequence[Pair], Sequence[Annotation]]]:
    keys = sorted(annotations.finished_pairs(database, recipe_id))
    for start in range(0, len(keys), _BATCH):
        pairs = annotations.load_pairs(database, keys[start : start + _BATCH])
        stored = [pair.key for pair in pairs]
        yield pairs, annotations.load_annotations(database, recipe_id, stored)


async def _derive(
    pairs: Sequence[Pair], made: Sequence[Annotation], settings: Settings
) -> list[Annotation]:
    return [
        await replayed(pair, annotation, settings)
        for pair, annotation in zip(pairs, made, strict=True)
    ]


def _row(item: Annotation) -> Row:
    return item.query_id, item.code_id, item.status, item.label, item.support


def _compare(recipe_id: str, stored: Sequence[Row], derived: Sequence[Row]) -> None:
    differing = [(old, new) for old, new in zip(stored, derived, strict=True) if old != new]
    if differing:
        shown = "\n".join(
            f"  query {old[0]}, code {old[1]}: stored {old[2:]}, derived {new[2:]}"
            for old, new in differing[:_SHOWN]
        )
        raise ReplayError(
            f"{len(differing):,} of {len(stored):,} labels of recipe {recipe_id} differ from the "
            f"stored ones when derived again:\n{shown}\nThe store or the algorithm was changed "
            "since they were made: annotate again, or replay with the version that made them"
        )
