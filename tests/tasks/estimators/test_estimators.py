"""Laws of the parts of estimators.

Covers `measures`, `mmd_critic`, `random_samples`, `ranks`, `neighbours`.
"""

import math
from itertools import islice

import numpy as np
import pytest
from mmd_critic import MMDCritic
from mmd_critic.kernels import RBFKernel

from infra.errors import UnknownNameError
from tasks.benchmarks.runs import Rankings
from tasks.estimators import (
    MEASURES,
    Estimate,
    EstimationData,
    Floats,
    PairVectors,
    Positions,
    Ranks,
    measure_named,
    nearest,
    ranks_among,
)
from tasks.estimators.pace import prototypes
from tasks.estimators.random_samples import RandomTest, RandomTraining
from tasks.metrics import evaluate, metrics
from tasks.statistics import Values
from tests.tasks.estimators.test_conformance import pairs

RANKS = np.arange(1, 31)


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


def features(number: int, seed: int) -> Values:
    return np.random.default_rng(seed).dirichlet(np.ones(4), number)


def objective(values: Values, chosen: list[int], gamma: float) -> float:
    """Return J(S) of Kim et al. (2016), term by term."""

    def kernel(one: int, other: int) -> float:
        return math.exp(-gamma * float(np.square(values[one] - values[other]).sum()))

    towards = sum(kernel(row, taken) for row in range(len(values)) for taken in chosen)
    among = sum(kernel(one, other) for one in chosen for other in chosen)
    return 2 * towards / (len(values) * len(chosen)) - among / len(chosen) ** 2


def test_each_prototype_makes_the_objective_as_high_as_can_be() -> None:
    values = features(25, 0)
    chosen: list[int] = []
    for found in islice(prototypes(values, 2.0), 10):
        rest = [row for row in range(25) if row not in chosen]
        best = max(objective(values, [*chosen, row], 2.0) for row in rest)
        chosen.append(found)
        assert objective(values, chosen, 2.0) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("gamma", [0.026, 5.0])
def test_they_are_those_of_the_package_mmd_critic(gamma: float) -> None:
    values = features(300, 1)
    kernel = RBFKernel(sigma=1 / math.sqrt(2 * gamma))
    wanted = MMDCritic(values, kernel, labels=np.arange(300)).select_prototypes(60)[1]
    assert list(islice(prototypes(values, gamma), 60)) == wanted.tolist()


@pytest.mark.parametrize("values", [np.ones((5, 3)), np.ones((1, 3)), features(7, 2)])
def test_every_row_is_taken_once(values: Values) -> None:
    assert sorted(prototypes(values, 0.026)) == list(range(len(values)))


def test_the_kernel_is_summed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(prototypes(features(100, 3), 5.0))
    monkeypatch.setattr("tasks.estimators.pace._CELLS_AT_ONCE", 700)
    assert list(prototypes(features(100, 3), 5.0)) == whole


TRAINING, TEST = pairs(300, 5), pairs(200, 6)
TRUTH = 1 / ranks_among(TEST)


def data(training: PairVectors = TRAINING) -> EstimationData:
    return EstimationData.of_pairs(training, TEST)


def test_all_queries_labelled_give_the_truth() -> None:
    found = RandomTest().estimate(data(), budget=200, seed=7)
    assert found.mean("MRR") == pytest.approx(TRUTH.mean(), abs=1e-12)


def test_a_small_sample_is_far_too_high_for_its_codes_rank_among_themselves() -> None:
    found = [RandomTest().estimate(data(), budget=10, seed=seed).mean("MRR") for seed in range(30)]
    assert np.mean(found) > TRUTH.mean() + 0.2


def test_each_query_is_as_likely_to_be_drawn_as_any_other() -> None:
    drawn: list[int] = []

    def label(rows: Positions) -> Ranks:
        drawn.extend(rows)
        return np.ones(len(rows), np.int64)

    asked = EstimationData(TRAINING, TEST.queries, label)
    for seed in range(400):
        RandomTest().estimate(asked, budget=20, seed=seed)
    times = np.bincount(drawn, minlength=200)  # 40 expected, standard deviation 6
    assert times.min() > 15
    assert times.max() < 65


def test_as_many_training_pairs_as_there_are_queries_are_ranked_among_themselves() -> None:
    one, other = (RandomTraining().estimate(data(), budget=1, seed=seed) for seed in (0, 1))
    assert len(one.ranks) == 200
    assert one.ranks.max() <= 200
    assert one.mean("MRR") != other.mean("MRR")


def test_where_there_are_fewer_training_pairs_all_are_taken_once() -> None:
    few = TRAINING.rows(np.arange(50))
    found = RandomTraining().estimate(data(few), budget=1, seed=0)
    assert found.mean("MRR") == pytest.approx((1 / ranks_among(few)).mean(), abs=1e-12)


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
    [(3, 7, 2, 3), (3, 7, 2, 7), (3, 7, 2, 50), (300, 500, 8, 10), (2_100, 9_000, 4, 5)],
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
