"""Laws of the estimators by random samples and of those that label uncertain queries."""

import numpy as np
import pytest

from tasks.estimators import (
    Estimate,
    EstimationData,
    PairVectors,
    Positions,
    Ranks,
    estimators,
    ranks_among,
)
from tasks.estimators.rivals import LabelsUncertain, RandomTest, RandomTraining
from tests.tasks.estimators.test_conformance import pairs

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


PROBABILITIES = np.array(
    [[0.5, 0.3, 0.2], [0.4, 0.31, 0.29], [0.49, 0.49, 0.02], [0.66, 0.17, 0.17]]
)


def choosing(name: str) -> LabelsUncertain:
    estimator = estimators.get(name)()
    assert isinstance(estimator, LabelsUncertain)
    return estimator


@pytest.mark.parametrize(
    ("name", "values", "order"),
    [
        ("deepgini", [0.62, 0.6598, 0.5194, 0.5066], [1, 0, 2, 3]),
        ("least-confidence", [-0.5, -0.4, -0.49, -0.66], [1, 2, 0, 3]),
        ("margin", [-0.2, -0.09, 0.0, -0.49], [2, 1, 0, 3]),
        (
            "max-entropy",
            [1.0296530140645737, 1.088566580256044, 0.7773233502284783, 0.876705519271537],
            [1, 0, 3, 2],
        ),
    ],
)
def test_uncertainty_by_hand(name: str, values: list[float], order: list[int]) -> None:
    found = choosing(name).uncertainty(PROBABILITIES)
    assert found == pytest.approx(values, abs=1e-12)
    assert np.argsort(-found).tolist() == order


def uncertain(identical: int, others: int = 200) -> EstimationData:
    """Return queries of which some are identical and as near to one training code as to the next.

    The others have two equal best codes among the ten. The codes of the identical queries have
    different cosines with their one query.
    """
    axes = np.eye(12)
    one = axes[:10].sum(axis=0) / np.sqrt(10)
    pairs = np.random.default_rng(0).integers(0, 10, (others, 2))
    pairs[:, 1] = (pairs[:, 0] + 1 + pairs[:, 1] % 9) % 10
    other = axes[pairs].sum(axis=1)
    angles = np.arange(1, identical + 1)[:, None] / identical
    codes = np.vstack([other, np.cos(angles) * one + np.sin(angles) * axes[10]])
    queries = np.vstack([other, np.tile(one, (identical, 1))])
    order = np.random.default_rng(1).permutation(len(queries))
    training = PairVectors(axes[:10], axes[:10])
    return EstimationData.of_pairs(training, PairVectors(queries[order], codes[order]))


@pytest.mark.parametrize(("identical", "published"), [(284, 0.0219), (851, 0.0086), (1419, 0.0055)])
@pytest.mark.parametrize("name", ["deepgini", "least-confidence", "max-entropy"])
def test_identical_queries_have_the_published_score(
    name: str, identical: int, published: float
) -> None:
    """KAPE, Table 4, PHP, budgets of 1, 3 and 5%: all are H(s) / s for so many queries."""
    found = choosing(name).estimate(uncertain(identical), budget=identical, seed=0).mean("MRR")
    assert found == pytest.approx((1 / np.arange(1, identical + 1)).mean(), abs=1e-12)
    assert round(found, 4) == published


def test_probabilities_are_the_softmax_of_the_models_own_similarities() -> None:
    codes = np.array([[1.0, 0], [0, 2], [3, 4]])
    training = PairVectors(codes, codes, similarity="product")
    data = EstimationData.of_pairs(training, training)
    products = codes @ codes.T
    expected = -np.sort(-np.exp(products) / np.exp(products).sum(axis=1, keepdims=True), axis=1)
    assert np.allclose(data.probabilities, expected)
    assert np.allclose(data.nearest(1).similarities, 1)  # of queries to queries: cosines, always


def test_equally_uncertain_queries_are_taken_in_their_order() -> None:
    asked: list[int] = []

    def label(rows: Positions) -> Ranks:
        asked.extend(rows)
        return np.ones(len(rows), np.int64)

    data = uncertain(500)
    data.label = label
    choosing("deepgini").estimate(data, budget=300, seed=0)
    identical = np.flatnonzero(np.ptp(data.probabilities, axis=1) < 1e-12)
    assert asked == identical[:300].tolist()


@pytest.mark.parametrize(("second", "published"), [(1, 0.9783), (2, 0.9565)])
def test_lists_of_23_answers_have_the_score_of_the_human_study(
    second: int, published: float
) -> None:
    """KAPE, section 7: 22.5 and 22 of 23, with one and two codes at rank 2."""
    codes = np.eye(23)
    for row in range(second):
        codes[row + 10, row] = 0.9  # cosine .67 with that query, whose own code has .45
        codes[row, -1] = 2
    found = Estimate.of(ranks_among(PairVectors(np.eye(23), codes)))
    assert sorted(found.ranks.ravel().tolist()) == [1] * (23 - second) + [2] * second
    assert round(found.mean("MRR"), 4) == published
