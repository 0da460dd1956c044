"""Laws of which pending pairs a run takes.

Covers `tasks.stages.annotate.pending`, `tasks.stages.annotate.run`.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.ids import RecipeId, SearchId
from infra.settings import (
    ReannotationSettings,
    Reason,
)
from infra.store.pending import PendingCounts, PendingGroup, Selection
from tasks.stages.annotate.pending import (
    RoundPending,
    share,
    within,
)
from tests.fakes.labels import labels_by

NUMBERS: dict[Reason, int] = {"new_queries": 40, "failed": 3, "stale": 100}
ENOUGH = 1_000
SELECTION = Selection(
    search_id=SearchId("s"), recipe_id=RecipeId("r"), labels=labels_by("s", ["r"])
)


@pytest.mark.parametrize(
    ("policy", "most", "left", "expected"),
    [
        ({}, {}, ENOUGH, [("new_queries", 40), ("failed", 3), ("stale", 100)]),
        ({"take": ("stale", "failed")}, {}, ENOUGH, [("stale", 100), ("failed", 3)]),
        ({"take": ("stale", "failed")}, {}, 101, [("stale", 100), ("failed", 1)]),
        ({"take": ("stale", "failed")}, {}, 100, [("stale", 100)]),
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
    chosen = ReannotationSettings(**policy)
    assert within(NUMBERS, chosen.take, {**chosen.limits, **most}, left) == expected


@given(st.integers(0, 50), st.lists(st.integers(0, 30), min_size=1, max_size=5))
def test_rounds_share_what_a_person_bounds_and_never_take_more(most: int, of: list[int]) -> None:
    left = most
    for number, pending in enumerate(of):
        left -= min(pending, share(left, len(of) - number))
    assert left >= 0
    if min(of) >= most:
        assert left == 0, "where enough is pending, all of it is taken"


def test_failed_pairs_that_have_to_wait_are_not_pending() -> None:
    groups = [
        PendingGroup("failed", False, RecipeId(""), "", 4),
        PendingGroup("failed", True, RecipeId(""), "", 2),
        PendingGroup("stale", True, RecipeId("r"), "screener", 3),
        PendingGroup("stale", True, RecipeId("q"), "arbiter,screener", 5),
        PendingGroup("stale", True, RecipeId("q"), "screener", 1),
    ]
    pending = RoundPending(SELECTION, PendingCounts(20, 5, 0, groups))
    assert pending.pending == {"failed": 2, "stale": 9}
    assert pending.not_due == 4
