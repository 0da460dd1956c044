"""Laws of the mean over a random sample."""

import numpy as np
import pytest

from tasks.estimators import TrainingPairs, UnlabelledQueries, Values
from tasks.estimators.random_test import RandomTest

NOTHING = TrainingPairs(np.empty((0, 1), np.float32), np.empty((0, 1), np.float32))
TRUTH: Values = 1 / np.random.default_rng(1).integers(1, 6, 400)


def queries(truth: Values = TRUTH) -> UnlabelledQueries:
    return UnlabelledQueries(np.ones((len(truth), 1), np.float32), lambda rows: truth[list(rows)])


def test_all_queries_labelled_give_the_mean_itself() -> None:
    found = RandomTest().estimate(queries(), NOTHING, budget=400, seed=0)
    assert found.low == found.high == found.value == pytest.approx(TRUTH.mean())


def test_nineteen_of_twenty_intervals_hold_the_mean() -> None:
    found = [RandomTest().estimate(queries(), NOTHING, budget=50, seed=seed) for seed in range(400)]
    held = np.mean([one.low <= TRUTH.mean() <= one.high for one in found])
    assert 0.92 <= held <= 0.98
    assert np.mean([one.value for one in found]) == pytest.approx(TRUTH.mean(), abs=0.01)


def test_the_interval_is_that_of_a_case_worked_by_hand() -> None:
    # Mean .5, s = .5774 over 4 of 100: t = 3.1824, error .2829, cut to [0, 1].
    values = np.array([0.0, 1.0, 0.0, 1.0] + [0.5] * 96)
    sample = UnlabelledQueries(np.ones((100, 1), np.float32), lambda rows: values[: len(rows)])
    found = RandomTest().estimate(sample, NOTHING, budget=4, seed=0)
    assert (found.low, found.value, found.high) == (0.0, 0.5, 1.0)
    tenth = UnlabelledQueries(
        np.ones((100, 1), np.float32), lambda rows: 0.45 + values[: len(rows)] / 10
    )
    narrow = RandomTest().estimate(tenth, NOTHING, budget=4, seed=0)
    assert narrow.high - narrow.value == pytest.approx(3.1824 * 0.05774 / 2 * 0.96**0.5, abs=1e-4)


def test_one_labelled_query_says_nothing_of_the_spread() -> None:
    found = RandomTest().estimate(queries(), NOTHING, budget=1, seed=0)
    assert (found.low, found.high) == (0.0, 1.0)


def test_another_seed_draws_another_sample() -> None:
    values = {RandomTest().estimate(queries(), NOTHING, budget=20, seed=n).value for n in range(5)}
    assert len(values) > 1
