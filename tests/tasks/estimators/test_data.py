"""Laws of measures, ranks, neighbours and vectors, and of what is computed once and kept."""

import numpy as np
import pytest

from infra.errors import EstimationError, UnknownNameError
from tasks.benchmarks.runs import Rankings
from tasks.estimators import (
    MEASURES,
    EstimationData,
    Floats,
    PairVectors,
    _data,
    check_vectors,
    measure_named,
    nearest,
    ranks_among,
)
from tasks.metrics import evaluate, metrics
from tasks.search import exact
from tasks.statistics import Values

RANKS = np.arange(1, 31)


@pytest.fixture(autouse=True)
def blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks as small as the data of tests, which so has several."""
    for module in (exact, _data):
        monkeypatch.setattr(module, "QUERIES", 100)
        monkeypatch.setattr(module, "CODES", 400)


@pytest.mark.parametrize("name", [*MEASURES, "Answered@1", "Recall@3", "NDCG@5"])
def test_they_are_the_metrics_of_a_ranking_with_one_relevant_code(name: str) -> None:
    queries = [f"q{rank:02}" for rank in RANKS]
    codes = [f"c{number:02}" for number in RANKS]
    order = np.tile(np.arange(30), (30, 1))
    rankings = Rankings(queries, codes, order, -order.astype(float))
    qrels = {query: {codes[rank - 1]: 1.0} for query, rank in zip(queries, RANKS, strict=True)}
    expected = evaluate(rankings, qrels, [name])[name]
    assert measure_named(name)(RANKS) == pytest.approx([expected[query] for query in queries])


def test_ranks_of_any_shape_are_taken() -> None:
    assert measure_named("MRR")(np.array([[1, 2], [4, 1]])).tolist() == [[1, 0.5], [0.25, 1]]


MANY_DIGITS = "Recall@" + "1" * 5_000


@pytest.mark.parametrize(
    "name", ["MAP", "Answered", "Answered@0", "NDCG@10-zero", "mrr", MANY_DIGITS]
)
def test_what_is_no_function_of_one_rank_is_refused(name: str) -> None:
    with pytest.raises(UnknownNameError, match="cannot be estimated: MRR, Answered@k"):
        measure_named(name)
    assert "MRR" in metrics


@pytest.mark.parametrize(("number", "chosen"), [(1, 1), (40, 25), (90, 250), (900, 230)])
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


def plainly(queries: Floats, items: Floats) -> Values:
    """(n, m) cosines, rounded so that equal vectors tie whatever the order of summation."""
    left, right = queries.astype(float), items.astype(float)
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    return np.round(left @ right.T, 12)  # type: ignore[no-any-return]


def drawn(queries: int, items: int, dimension: int) -> tuple[Floats, Floats]:
    """Queries and items, a quarter of which stand twice; some queries are items."""
    generator = np.random.default_rng(queries + items)
    rows = generator.standard_normal((items, dimension)).astype(np.float32)
    rows[items // 2 : items // 2 + items // 4] = rows[: items // 4]
    asked = generator.standard_normal((queries, dimension)).astype(np.float32)
    asked[: min(queries, items) // 3] = rows[: min(queries, items) // 3]
    return asked, rows


@pytest.mark.parametrize(
    ("queries", "items", "dimension", "k"),
    [(3, 7, 2, 3), (3, 7, 2, 7), (3, 7, 2, 50), (30, 50, 8, 10), (210, 900, 4, 5)],
)
def test_they_are_those_of_a_full_sort(queries: int, items: int, dimension: int, k: int) -> None:
    asked, rows = drawn(queries, items, dimension)
    cosines = plainly(asked, rows)
    places = np.broadcast_to(np.arange(items), cosines.shape)
    expected = np.lexsort((places, -cosines), axis=1)[:, :k]
    found = nearest(asked, rows, k)
    assert np.array_equal(found.rows, expected)
    assert found.similarities == pytest.approx(np.take_along_axis(cosines, expected, 1), abs=1e-11)


def test_thousands_of_equal_items_are_taken_in_their_order() -> None:
    rows = np.tile(np.array([[0.6, 0.8]], np.float32), (20_000, 1))
    rows[17_000] = (1, 0)
    found = nearest(np.array([[1, 0], [0, 1]], np.float32), rows, 3)
    assert found.rows.tolist() == [[17_000, 0, 1], [0, 1, 2]]


def test_lengths_do_not_matter_and_double_precision_is_kept() -> None:
    asked = np.array([[3.0, 4.0]])
    found = nearest(asked, np.array([[10.0, 0.0], [0.0, 0.1]]), 2)
    assert found.similarities == pytest.approx(np.array([[0.8, 0.6]]), abs=1e-15)
    assert found.rows.tolist() == [[1, 0]]


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
