"""Replay: all labels derived again from stored calls and executions, and compared.

It uses no model, no engine and no network: the store has the recipe, the replies and the executions
of each label.
"""

import asyncio
from collections.abc import Iterator, Sequence

from agents.committee.configurations import ALGORITHM
from agents.committee.recipe import gates_of
from agents.committee.replay import replayed
from infra.batches import batched
from infra.errors import ReplayError
from infra.identity import digest_of
from infra.ids import RecipeId
from infra.records import Annotation, Pair, Record
from infra.settings import Settings
from infra.store import Database, annotations, recipes

_BATCH = 1_000
_DIFFERENCES_SHOWN = 5

LabelRow = tuple[str, str, str, int | None, str]


class Replay(Record):
    """The result of a replay of a recipe's labels.

    Attributes:
        recipe_id: The recipe.
        model: The model that gave the replies.
        pairs: Number of labels derived again.
        digest: Digest of their query, code, status, label and evidence, in the order of ids.
        without_text: Number of labels not derived: the text of their query or code is missing.
        made_by: The algorithm that made the labels, if this version cannot derive them.
    """

    recipe_id: str
    model: str
    pairs: int = 0
    digest: str = ""
    without_text: int = 0
    made_by: str = ""


def replay(database: Database, settings: Settings) -> Iterator[Replay]:
    """Derive the labels of every recipe in the store again; yield one result for each recipe.

    Args:
        database: The store.
        settings: Settings that are not part of a recipe, such as paths.

    Raises:
        ReplayError: A derived label differs from the stored one.
    """
    for recipe_id in recipes.recipe_ids(database):
        recipe = recipes.load_recipe(database, recipe_id)
        recipe_settings = _settings_of(recipe, settings)
        if recipe["algorithm"] != ALGORITHM:
            made_by = str(recipe["algorithm"])
            yield Replay(recipe_id=recipe_id, model=recipe_settings.llm.model, made_by=made_by)
            continue
        stored: list[LabelRow] = []
        derived: list[LabelRow] = []
        for pairs, annotated in _batches(database, recipe_id):
            replays = asyncio.run(_derive(pairs, annotated, recipe_settings))
            stored += [_label_row(item) for item in annotated]
            derived += [_label_row(item) for item in replays]
        _compare(recipe_id, stored, derived)
        yield Replay(
            recipe_id=recipe_id,
            model=recipe_settings.llm.model,
            pairs=len(derived),
            digest=digest_of(derived),
            without_text=len(annotations.finished_pairs(database, recipe_id)) - len(derived),
        )


def _settings_of(recipe: dict[str, object], settings: Settings) -> Settings:
    """Return the settings with those of a recipe, except for the sandbox, which replay ignores."""
    llm = settings.llm.model_validate(recipe["model"])
    values = {"configuration": recipe["configuration"], "max_try_time": recipe["max_try_time"]}
    if "scaffolding" in recipe:
        values["scaffolding"] = "on" if recipe["scaffolding"] else "off"
    if "evidence" in recipe:
        values["evidence"] = recipe["evidence"]
    judging = {name: value for name, value in values.items() if value is not None}
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
    """Yield pairs with their annotations."""
    keys = sorted(annotations.finished_pairs(database, recipe_id))
    for some in batched(keys, _BATCH):
        batch = annotations.load_annotations(database, recipe_id, some)
        pairs = {pair.key: pair for pair in annotations.load_pairs(database, some)}
        judged = [(pairs[item.key], item) for item in batch if item.key in pairs]
        yield [pair for pair, _ in judged], [item for _, item in judged]


async def _derive(
    pairs: Sequence[Pair], annotated: Sequence[Annotation], settings: Settings
) -> list[Annotation]:
    return [
        await replayed(pair, annotation, settings)
        for pair, annotation in zip(pairs, annotated, strict=True)
    ]


def _label_row(item: Annotation) -> LabelRow:
    return item.query_id, item.code_id, item.status, item.label, item.support


def _compare(recipe_id: str, stored: Sequence[LabelRow], derived: Sequence[LabelRow]) -> None:
    differing = [(old, new) for old, new in zip(stored, derived, strict=True) if old != new]
    if differing:
        shown = "\n".join(
            f"  query {old[0]}, code {old[1]}: stored {old[2:]}, derived {new[2:]}"
            for old, new in differing[:_DIFFERENCES_SHOWN]
        )
        raise ReplayError(
            f"{len(differing):,} of {len(stored):,} labels of recipe {recipe_id} differ from the "
            f"stored ones when derived again:\n{shown}\nThe store or the algorithm has "
            "changed since: annotate again, or replay with the version that made them"
        )
