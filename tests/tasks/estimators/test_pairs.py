"""Vectors that are not fit for a cosine are refused; what is computed once is kept.

Covers `tasks.estimators._data`.
"""

import numpy as np
import pytest

from infra.errors import EstimationError
from tasks.estimators import EstimationData, PairVectors, check_vectors


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_no_vector_is_named(bad: float) -> None:
    vectors = np.ones((5, 3), np.float32)
    vectors[3, 1] = bad
    with pytest.raises(EstimationError, match=r"test queries: 1 of 5 rows .* row 3 first"):
        check_vectors("test queries", vectors)


def test_a_row_of_zeros_has_no_direction() -> None:
    with pytest.raises(EstimationError, match="2 of 2 rows"):
        PairVectors(np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32))


@pytest.mark.parametrize(
    ("training", "queries", "message"), [(0, 1, "no training pairs"), (1, 0, "no queries")]
)
def test_an_estimate_needs_both_sides(training: int, queries: int, message: str) -> None:
    pairs = PairVectors(np.ones((training, 2)), np.ones((training, 2)))
    with pytest.raises(EstimationError, match=message):
        EstimationData.of_pairs(pairs, PairVectors(np.ones((queries, 2)), np.ones((queries, 2))))


def random_data(number: int) -> EstimationData:
    generator = np.random.default_rng(0)
    rows = [generator.standard_normal((number, 4)) for _ in range(4)]
    return EstimationData.of_pairs(PairVectors(*rows[:2]), PairVectors(*rows[2:]))


def test_few_neighbours_are_the_first_of_many_in_either_order() -> None:
    few_first, many_first = random_data(50), random_data(50)
    few, _ = few_first.neighbour_ranks(2), many_first.neighbour_ranks(9)
    assert np.array_equal(many_first.neighbour_ranks(2), few)
    assert np.array_equal(few_first.neighbour_ranks(9), many_first.neighbour_ranks(9))
    assert few_first.nearest(3).rows.shape == (50, 3)


def test_probabilities_are_a_softmax_over_the_ten_best_codes() -> None:
    data = random_data(30)
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (
        data.queries.astype(float), data.training.codes.astype(float))]  # fmt: skip
    best = -np.sort(-(unit[0] @ unit[1].T), axis=1)[:, :10]
    expected = np.exp(best) / np.exp(best).sum(axis=1, keepdims=True)
    assert data.probabilities == pytest.approx(expected)
