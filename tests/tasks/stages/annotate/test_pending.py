"""Laws of which pending pairs a run takes.

Covers `tasks.stages.annotate.run`.
"""

from typing import Any

import pytest

from infra.ids import RecipeId, SearchId
from infra.settings import ReannotationSettings, Reason
from infra.store.pending import PendingCounts, PendingGroup, Selection
from tasks.runtime.references import RecipeReference
from tasks.stages.annotate.plan import PendingRound, taken_pairs
from tests.fakes.stores import labels_by

NEW, FAILED, STALE = 40, 3, 100
ALL: dict[Reason, int] = {"new_queries": NEW, "failed": FAILED, "outdated": STALE}


def round_of(groups: list[PendingGroup]) -> PendingRound:
    """Return a round with groups of pending pairs."""
    recipe = RecipeReference(recipe_id=RecipeId("r"), model="m")
    selection = Selection(
        search_id=SearchId("s"), recipe_id=recipe.recipe_id, labels=labels_by("s", ["r"])
    )
    return PendingRound(recipe, {}, selection, PendingCounts(200, 5, 0, groups))


ROUND = round_of([PendingGroup(reason, True, RecipeId(""), "", n) for reason, n in ALL.items()])


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, [ALL, ALL]),
        ({"take": ("outdated", "failed")}, [{"outdated": 100, "failed": 3}] * 2),
        ({"take": ("outdated", "failed"), "pairs": 101}, [{"outdated": 100, "failed": 1}, {}]),
        ({"pairs": 145}, [ALL, {"new_queries": 2}]),
        ({"limits": {"outdated": 7}}, [ALL | {"outdated": 7}, {"new_queries": 40, "failed": 3}]),
        ({"limits": {"new_queries": 0}, "pairs": 50}, [{"failed": 3, "outdated": 47}, {}]),
    ],
)  # fmt: skip
def test_reasons_are_taken_in_their_order_within_limits_that_hold_over_all_rounds(
    policy: dict[str, Any], expected: list[dict[Reason, int]]
) -> None:
    taken = taken_pairs([ROUND, ROUND], ReannotationSettings(**policy))
    assert [list(each.items()) for each in taken] == [list(each.items()) for each in expected]


def test_failed_pairs_that_have_to_wait_are_not_pending() -> None:
    pending = round_of(
        [
            PendingGroup("failed", False, RecipeId(""), "", 4),
            PendingGroup("failed", True, RecipeId(""), "", 2),
            PendingGroup("outdated", True, RecipeId("r"), "screener", 3),
            PendingGroup("outdated", True, RecipeId("q"), "arbiter,screener", 5),
            PendingGroup("outdated", True, RecipeId("q"), "screener", 1),
        ]
    )
    assert pending.pending == {"failed": 2, "outdated": 9}
    assert pending.not_due == 4
