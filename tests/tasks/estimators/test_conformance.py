"""Laws that every registered estimator keeps."""

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

NUMBER, TRAINING, DIMENSION = 60, 80, 8
BUDGETS = (1, 2, 20, NUMBER, 10 * NUMBER)


def pairs(number: int, seed: int = 0) -> PairVectors:
    generator = np.random.default_rng(seed)
    queries = generator.normal(size=(number, DIMENSION)).astype(np.float32)
    return PairVectors(queries, queries + generator.normal(size=queries.shape).astype(np.float32))


class Problem:
    """Test queries whose codes are known here, and a record of those that were asked for."""

    def __init__(self, training: PairVectors, test: PairVectors) -> None:
        self.labelled: list[int] = []
        self.data = EstimationData(training, test.queries, self._label)
        self._test = test

    def _label(self, rows: Positions) -> Ranks:
        self.labelled += list(rows)
        return ranks_among(self._test, np.asarray(rows))


TRAINED = pairs(TRAINING)
PROBLEMS = {
    "usual": (TRAINED, pairs(NUMBER, 1)),
    "one query": (TRAINED, pairs(1, 2)),
    "three queries": (TRAINED, pairs(3, 3)),
    "one training pair": (TRAINED.rows(np.zeros(1, np.int64)), pairs(NUMBER, 1)),
    "one of each": (TRAINED.rows(np.zeros(1, np.int64)), pairs(1, 2)),
    "identical queries": (TRAINED, pairs(NUMBER, 1).rows(np.zeros(NUMBER, np.int64))),
    "trained on the same": (TRAINED, TRAINED),
    "many queries": (TRAINED, pairs(400, 4)),
}


@pytest.fixture(params=estimators.names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def same(one: Estimate, other: Estimate) -> bool:
    return np.array_equal(one.ranks, other.ranks) and np.array_equal(one.weights, other.weights)


@pytest.mark.parametrize("case", PROBLEMS)
def test_an_estimate_is_a_weighted_mean_of_ranks_within_the_budget(name: str, case: str) -> None:
    estimator = estimators.get(name)
    for budget in BUDGETS:
        problem = Problem(*PROBLEMS[case])
        found = estimator().estimate(problem.data, budget=budget, seed=0)
        assert found.ranks.shape == found.weights.shape
        assert found.ranks.size
        assert found.ranks.min() >= 1
        assert found.weights.min() >= 0
        assert found.weights.sum(axis=1) == pytest.approx(1, abs=1e-12)
        assert 0 < found.mean("MRR") <= 1 + 1e-12
        wanted = min(budget, len(problem.data.queries)) if estimator.uses_labels else 0
        assert len(problem.labelled) == len(set(problem.labelled)) <= wanted


def test_the_same_seed_gives_the_same_estimate_and_a_stable_one_needs_none(name: str) -> None:
    estimator = estimators.get(name)
    found = [
        estimator().estimate(Problem(*PROBLEMS["usual"]).data, budget=20, seed=seed)
        for seed in (3, 3, 0, 1, 2)
    ]
    assert same(found[0], found[1])
    assert estimator.is_stable == all(same(found[0], other) for other in found)


def test_an_object_gives_the_same_over_again_and_on_other_data(name: str) -> None:
    used = estimators.get(name)()
    for case in ("usual", "three queries", "usual"):
        data = Problem(*PROBLEMS[case]).data
        for budget in (20, 2, 40):
            fresh = estimators.get(name)().estimate(data, budget=budget, seed=0)
            assert same(used.estimate(data, budget=budget, seed=0), fresh)
