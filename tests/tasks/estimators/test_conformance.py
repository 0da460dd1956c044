"""Laws that every registered estimator keeps."""

from collections.abc import Sequence

import numpy as np
import pytest

from tasks.estimators import Estimate, TrainingPairs, UnlabelledQueries, Values, estimators

NUMBER, TRAINING, DIMENSION = 60, 40, 8


def unit(
    generator: np.random.Generator, rows: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    vectors = generator.normal(size=(rows, DIMENSION)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)  # type: ignore[no-any-return]


class Problem:
    """Test queries whose scores are known here, and a record of those that were asked for."""

    def __init__(self) -> None:
        generator = np.random.default_rng(0)
        self.truth: Values = 1 / generator.integers(1, 5, NUMBER)
        self.labelled: list[int] = []
        self.queries = UnlabelledQueries(unit(generator, NUMBER), self._score)
        self.training = TrainingPairs(unit(generator, TRAINING), unit(generator, TRAINING))

    def _score(self, positions: Sequence[int]) -> Values:
        self.labelled += positions
        values: Values = self.truth[list(positions)]
        return values

    def estimate(self, name: str, *, budget: int = 20, seed: int = 0) -> Estimate:
        return estimators.get(name)().estimate(
            self.queries, self.training, budget=budget, seed=seed
        )


@pytest.fixture(params=estimators.names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("budget", [1, 2, 20, NUMBER, 10 * NUMBER])
def test_an_estimate_is_a_score_inside_its_interval(name: str, budget: int) -> None:
    found = Problem().estimate(name, budget=budget)
    assert 0 <= found.low <= found.value <= found.high <= 1


@pytest.mark.parametrize("budget", [1, 20, 10 * NUMBER])
def test_no_more_queries_are_labelled_than_the_budget_and_each_once(name: str, budget: int) -> None:
    problem = Problem()
    found = problem.estimate(name, budget=budget)
    assert len(problem.labelled) == len(set(problem.labelled)) == found.labelled <= budget


def test_the_same_seed_gives_the_same_estimate(name: str) -> None:
    assert Problem().estimate(name, seed=3) == Problem().estimate(name, seed=3)
