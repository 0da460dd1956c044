"""Laws of held candidates: none of the best is dropped, and memory stays bounded."""

import numpy as np

from tasks.search.held import Held
from tasks.search.scores import Doubles, Positions, Rows

ROUNDING = np.full(3, 1e-3, np.float32)


def test_all_that_may_be_among_the_best_is_held_and_little_more() -> None:
    generator = np.random.default_rng(0)
    held, k = Held(10, ROUNDING), 10
    scores = generator.random((3, 20_000)).astype(np.float32)
    for start in range(0, 20_000, 500):
        rows, columns = np.nonzero(scores[:, start : start + 500] >= held.bounds[:, None])
        held.add(rows, (columns + start).astype(np.int32), scores[rows, columns + start])
    rows, positions = held.candidates()
    assert not held.is_crowded
    for query in range(3):
        ours = set(positions[rows == query].tolist())
        kth = np.sort(scores[query])[-k]
        assert ours == set(np.flatnonzero(scores[query] >= kth - ROUNDING[query]).tolist())


def test_more_equal_ones_than_there_is_room_for_are_settled_by_exact_scores() -> None:
    held = Held(2, ROUNDING)
    rows = np.repeat([0, 2], 1_000)
    positions = np.tile(np.arange(1_000, dtype=np.int32), 2)
    held.add(rows, positions, np.full(2_000, 0.5, np.float32))
    assert held.is_crowded

    def exact(_: Rows, some: Positions) -> Doubles:
        return np.where(some == 700, 0.5001, 0.5)

    held.settle(exact)
    assert not held.is_crowded
    rows, positions = held.candidates()
    assert sorted(zip(rows.tolist(), positions.tolist(), strict=True)) == [
        (0, 0), (0, 700), (2, 0), (2, 700),
    ]  # fmt: skip


def test_bounds_rise_only() -> None:
    held = Held(1, ROUNDING)
    held.raise_bounds(np.full(3, 0.5, np.float32))
    held.raise_bounds(np.full(3, 0.2, np.float32))
    assert np.allclose(held.bounds, 0.499)


def test_bounds_fall_where_scores_become_less_exact() -> None:
    held = Held(1, ROUNDING)
    held.raise_bounds(np.full(3, 0.5, np.float32))
    held.widen(100 * ROUNDING)
    assert np.allclose(held.bounds, 0.4)
