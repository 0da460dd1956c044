"""Laws of the two random rivals."""

import numpy as np
import pytest

from tasks.estimators import EstimationData, PairVectors, Positions, Ranks, ranks_among
from tasks.estimators.random_samples import RandomTest, RandomTraining
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
