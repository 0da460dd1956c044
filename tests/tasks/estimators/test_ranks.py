"""Ranks in a list of pairs against a plain computation, and against figures of the paper."""

import numpy as np
import pytest

from tasks.estimators import Estimate, PairVectors, ranks_among
from tests.tasks.estimators.test_neighbours import drawn, plainly


@pytest.mark.parametrize(("number", "chosen"), [(1, 1), (40, 25), (900, 2_500), (9_000, 2_300)])
def test_they_count_the_codes_that_score_at_least_as_high(number: int, chosen: int) -> None:
    queries, _ = drawn(number, number, 5)
    _, codes = drawn(number, number, 5)
    rows = np.random.default_rng(1).integers(0, number, chosen)
    scores = plainly(queries[rows], codes[rows])
    expected = (scores >= np.diag(scores)[:, None]).sum(axis=1)
    assert np.array_equal(ranks_among(PairVectors(queries, codes), rows), expected)


def test_all_pairs_are_the_list_where_no_rows_are_given() -> None:
    pairs = PairVectors(*drawn(30, 30, 3))
    assert np.array_equal(ranks_among(pairs), ranks_among(pairs, np.arange(30)))


def test_a_model_that_ranks_by_products_prefers_longer_vectors() -> None:
    queries, codes = np.eye(2), np.array([[1.0, 0], [2.0, 1]])
    assert ranks_among(PairVectors(queries, codes)).tolist() == [1, 1]
    assert ranks_among(PairVectors(queries, codes, similarity="product")).tolist() == [2, 1]
    some, others = (27 * rows for rows in drawn(40, 40, 3))
    found = ranks_among(PairVectors(some, others, similarity="product"))
    products = some.astype(float) @ others.astype(float).T
    assert np.array_equal(found, (products >= np.diag(products)[:, None] - 1e-9).sum(axis=1))


def test_a_repeated_pair_ties_with_itself() -> None:
    pairs = PairVectors(np.eye(3), np.eye(3))
    assert ranks_among(pairs, np.array([0, 0, 0, 1, 2])).tolist() == [3, 3, 3, 1, 1]


@pytest.mark.parametrize(("swapped", "published"), [(1, 0.9783), (2, 0.9565)])
def test_the_human_study_has_23_codes_one_or_two_of_them_at_rank_2(
    swapped: int, published: float
) -> None:
    """KAPE's human evaluation gives 22.5/23 and 22/23, so the pool of a list is the list."""
    queries = np.eye(24)[:23]
    for row in range(swapped):
        queries[row, row], queries[row, 22 - row] = 0.6, 0.8
    found = Estimate.of(ranks_among(PairVectors(queries, np.eye(24)[:23])))
    assert round(found.mean("MRR"), 4) == published
