"""Laws of the mean of a random sample."""

import math

import numpy as np
import pytest

from infra.errors import EstimationError
from tasks.statistics.sampling import DIFFERENCES, SCORES, Spread, sample_mean


def test_a_case_computed_by_hand() -> None:
    # variance 1/6 of the four, with 0 and 1 imagined (3/6 + 0.25 + 0.25) / 5 = 0.2; N = 10
    found = sample_mean(np.array([1, 0, 0.5, 0.5]), 10)
    half = 3.182446305 * math.sqrt(0.2 / 4 * 0.6)
    assert (found.mean, found.level) == (0.5, 0.95)
    assert (found.low, found.high) == (0.0, 1.0)  # cut at the ends of the scale
    assert Spread(1 / 6, 0.5).half_width(4, 10, level=0.95) == pytest.approx(half, abs=1e-9)


def test_differences_have_the_plain_t_interval() -> None:
    values = np.array([0.5, -0.5, 0.0, 0.25, 0.25])
    found = sample_mean(values, 1_000, level=0.9, scale=DIFFERENCES)
    half = 2.131846786 * math.sqrt(values.var(ddof=1) / 5 * 0.995)
    assert (found.low, found.high) == pytest.approx((0.1 - half, 0.1 + half), abs=1e-9)


def test_all_items_leave_no_doubt() -> None:
    found = sample_mean(np.array([0.2, 0.4]), 2)
    assert found.low == found.mean == found.high == pytest.approx(0.3)


@pytest.mark.parametrize(("scale", "low"), [(SCORES, 0.0), (DIFFERENCES, -1.0)])
def test_one_value_says_nothing_of_the_spread(scale: object, low: float) -> None:
    found = sample_mean(np.array([0.7]), 50, scale=scale)  # type: ignore[arg-type]
    assert (found.low, found.mean, found.high) == (low, 0.7, 1.0)


@pytest.mark.parametrize("scale", [SCORES, DIFFERENCES])
def test_equal_values_do_not_prove_that_all_items_are_equal(scale: object) -> None:
    found = sample_mean(np.full(50, 0.0), 5_000, scale=scale)  # type: ignore[arg-type]
    assert 3 / 50 / 2 < found.high < 3 / 50  # no success in n: at most about 3 / n


@pytest.mark.parametrize(
    ("values", "population", "message"),
    [
        ([], 5, "no values"),
        ([0.1, 0.2], 1, "2 values are no sample of 1 items"),
        ([0.1, math.nan], 5, "value 2 is nan"),
        ([1.5], 5, "value 1 is 1.5"),
    ],
)
def test_what_is_no_sample_is_refused(values: list[float], population: int, message: str) -> None:
    with pytest.raises(EstimationError, match=message):
        sample_mean(np.array(values), population)
