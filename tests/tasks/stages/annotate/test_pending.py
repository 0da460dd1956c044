"""Laws of which pending pairs a run takes."""

from typing import Any

import pytest

from infra.ids import RecipeId, SearchId
from infra.settings import REASONS, ReannotationSettings, Reason
from infra.store.pending import PendingCounts, PendingGroup, Selection
from tasks.stages.annotate.pending import RoundPending, within

NUMBERS: dict[Reason, int] = {"new_queries": 40, "failed": 3, "stale": 100}
ENOUGH = 1_000


@pytest.mark.parametrize(
    ("policy", "most", "left", "expected"),
    [
        ({}, {}, ENOUGH, [("new_queries", 40), ("failed", 3), ("stale", 100)]),
        ({"take": ("stale", "failed")}, {}, ENOUGH, [("stale", 100), ("failed", 3)]),
        ({"take": ("stale", "failed")}, {}, 101, [("stale", 100), ("failed", 1)]),
        ({"take": ("stale", "failed")}, {}, 100, [("stale", 100)]),
        ({"take": ("audit",)}, {}, ENOUGH, []),
        ({}, {}, 0, []),
        ({"limits": {"stale": 7}}, {}, ENOUGH, [("new_queries", 40), ("failed", 3), ("stale", 7)]),
        ({"limits": {"new_queries": 0}}, {}, 50, [("failed", 3), ("stale", 47)]),
        ({"limits": {"stale": 7}}, {"stale": 5}, ENOUGH,
         [("new_queries", 40), ("failed", 3), ("stale", 5)]),
        ({}, {"new_queries": 0, "stale": 5}, 6, [("failed", 3), ("stale", 3)]),
    ],
)  # fmt: skip
def test_reasons_are_taken_in_their_order_within_their_limits_and_the_runs(
    policy: dict[str, Any],
    most: dict[Reason, int],
    left: int,
    expected: list[tuple[Reason, int]],
) -> None:
    assert within(NUMBERS, ReannotationSettings(**policy), most, left) == expected


def test_by_default_all_reasons_but_the_audit_are_taken() -> None:
    policy = ReannotationSettings()
    assert {*policy.take, "audit"} == set(REASONS)


def test_failed_pairs_that_have_to_wait_are_not_pending() -> None:
    groups = [
        PendingGroup("failed", False, RecipeId(""), "", 4),
        PendingGroup("failed", True, RecipeId(""), "", 2),
        PendingGroup("stale", True, RecipeId("r"), "screener", 3),
        PendingGroup("stale", True, RecipeId("q"), "arbiter,screener", 5),
        PendingGroup("stale", True, RecipeId("q"), "screener", 1),
    ]
    selection = Selection(search_id=SearchId("s"), collection="c", recipe_id=RecipeId("r"))
    pending = RoundPending(selection, [], PendingCounts(20, 5, 0, groups))
    assert pending.pending == {"failed": 2, "stale": 9}
    assert pending.not_due == 4
    assert pending.paths("stale") == {"screener": 4, "arbiter,screener": 5}
