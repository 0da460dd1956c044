"""Laws of approximate search and of the best that are held.

Covers `approximate`, `held`.
"""

import numpy as np
import pytest

from infra.errors import SettingsError
from tasks.search.approximate import ApproximateSearch, check_recall
from tasks.search.exact import search
from tasks.search.held import Held
from tasks.search.scores import Doubles, Positions, Rows
from tests.tasks.search.test_exact import in_blocks, unit


def vectors() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    generator = np.random.default_rng(1)
    queries = {name: unit(generator, 20, d) for name, d in (("a", 12), ("b", 4))}
    codes = {name: unit(generator, 500, rows.shape[1]) for name, rows in queries.items()}
    return queries, codes


def test_an_index_that_looks_everywhere_finds_what_exact_search_does() -> None:
    queries, vectors_of = vectors()
    codes = in_blocks(vectors_of, 77)
    index = ApproximateSearch(codes, 500, ("a", "b"), lists=10, probes=10)
    found, exact = index.search(queries, 9), search(queries, codes, 9)
    assert np.array_equal(found.positions, exact.positions)
    assert np.array_equal(found.cosines, exact.cosines)
    assert np.array_equal(found.similarities, exact.similarities)
    assert index.recall(queries, 9) == 1


def test_recall_is_the_share_of_the_exact_best_and_too_little_is_refused() -> None:
    queries, vectors_of = vectors()
    codes = in_blocks(vectors_of, 200)
    index = ApproximateSearch(codes, 500, ("a", "b"), lists=12, probes=1)
    found, exact = index.search(queries, 9).positions, search(queries, codes, 9).positions
    shares = [len(set(one) & set(other)) / 9 for one, other in zip(found, exact, strict=True)]
    recall = index.recall(queries, 9)
    assert recall == pytest.approx(np.mean(shares))
    assert 0.1 < recall < 0.9
    with pytest.raises(
        SettingsError, match=r"of the exact top 9, .* raise search.ivf_probes \(1\)"
    ):
        check_recall(recall, 0.95, 1, 9)
    check_recall(recall, recall, 1, 9)


def test_queries_for_which_an_index_finds_too_few_are_searched_exactly() -> None:
    queries, vectors_of = vectors()
    codes = in_blocks(vectors_of, 500)
    index = ApproximateSearch(codes, 500, ("a", "b"), lists=12, probes=1)
    found, exact = index.search(queries, 300), search(queries, codes, 300)
    assert np.array_equal(found.positions, exact.positions)


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
