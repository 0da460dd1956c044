"""Replay: labels made again from the replies in the journal, and compared with the stored ones.

Test programs run again, and no model is asked.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence

from agents import Ledger, StoredReplies, build_committee, journal_ledger
from infra.batches import batched
from infra.errors import ReplayError
from infra.records import Annotation, Pair, Record
from infra.settings import CommitteeSettings, Settings, StoreSettings
from infra.store import annotations, open_database
from sandbox.backends import make_sandbox
from sandbox.contract.check import CheckedSandbox
from tasks.runtime.references import RecipeReference
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.annotate.run import rounds_of

_BATCH = 1_000
_DIFFERENCES_SHOWN = 5


class Replay(Record):
    """The result of a replay of a recipe's labels.

    Attributes:
        recipe_id: The recipe.
        model: The model that gave the replies.
        pairs: Number of labels made again.
        left_out: Reason → number of labels that could not be made again.
    """

    recipe_id: str
    model: str
    pairs: int
    left_out: dict[str, int]


def replay(settings: Settings) -> Iterator[Replay]:
    """Make the stored labels of each labelling round of the settings again; yield its result.

    Args:
        settings: Those by which the pairs were judged; neither address nor key is needed.

    Raises:
        ReplayError: A label differs from the stored one.
        SandboxError: No engine answers, or its boxes do not show what they must.
    """
    committee = settings.committee
    for recipe in rounds_of(current_recipe(committee), committee):
        yield _replayed(recipe, committee, settings.store)


def _replayed(recipe: RecipeReference, chosen: CommitteeSettings, store: StoreSettings) -> Replay:
    database = open_database(store)
    equal, differing, left_out = 0, list[tuple[Annotation, Annotation]](), Counter[str]()
    for keys in batched(sorted(annotations.finished_pairs(database, recipe.recipe_id)), _BATCH):
        pairs = annotations.load_pairs(database, keys)
        left_out["their texts are not in the store"] += len(keys) - len(pairs)
        judging = _judged(pairs, recipe, chosen, journal_ledger(store, chosen.llm))
        made = {item.key: item for item in asyncio.run(judging)}
        for stored in annotations.load_annotations(database, recipe.recipe_id, list(made)):
            again = made[stored.key]
            if again.status == "failed":
                left_out[again.reason] += 1
            elif _said(again) == _said(stored):
                equal += 1
            else:
                differing.append((stored, again))
    if differing:
        shown = "\n".join(
            f"  query {old.query_id}, code {old.code_id}: stored {_said(old)}, made {_said(new)}"
            for old, new in differing[:_DIFFERENCES_SHOWN]
        )
        raise ReplayError(
            f"{len(differing):,} of {equal + len(differing):,} labels of recipe {recipe.recipe_id} "
            f"differ from the stored ones when made again:\n{shown}\nThe store or the program has "
            "changed since: annotate again, or replay with the version that made them"
        )
    return Replay(
        recipe_id=recipe.recipe_id, model=recipe.model, pairs=equal, left_out=dict(+left_out)
    )


async def _judged(
    pairs: Sequence[Pair], recipe: RecipeReference, chosen: CommitteeSettings, ledger: Ledger
) -> list[Annotation]:
    """Return the annotations of pairs by kept replies."""
    sandbox = CheckedSandbox(make_sandbox(chosen.sandbox), chosen.sandbox)
    committee = build_committee(
        chosen, recipe.recipe_id, sandbox, ledger, recipe.labelling_round, StoredReplies
    )
    places = asyncio.Semaphore(chosen.annotation.in_flight)

    async def judge(pair: Pair) -> Annotation:
        async with places:
            return await committee.judge(pair)

    try:
        return await asyncio.gather(*map(judge, pairs))
    finally:
        await committee.close()
        await sandbox.close()


def _said(item: Annotation) -> tuple[str, int | None, str]:
    return item.status, item.label, item.support
