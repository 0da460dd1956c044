"""Laws of intervals of means, shares and other statistics, against scipy's."""

import math

import numpy as np
import pytest
import scipy.stats
from scipy.stats import binomtest

from tasks.statistics.intervals import bootstrap_interval, bootstrap_of, wilson_interval


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_an_interval_is_that_of_scipy_up_to_the_draws(level: float) -> None:
    values = np.random.default_rng(0).beta(0.5, 0.5, size=400)
    ours = bootstrap_interval(values, level=level, resamples=20_000)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, confidence_level=level, n_resamples=20_000, method="percentile",
        rng=np.random.default_rng(1), batch=500,
    ).confidence_interval  # fmt: skip
    assert ours.mean == pytest.approx(values.mean())
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-3)


def test_95_percent_intervals_hold_the_true_mean_19_times_in_20() -> None:
    generator = np.random.default_rng(3)
    drawn = (generator.beta(2, 5, size=60) for _ in range(400))
    found = [bootstrap_interval(values, resamples=400) for values in drawn]
    assert 0.91 <= np.mean([each.low <= 2 / 7 <= each.high for each in found]) <= 0.98


def test_the_same_values_give_the_same_interval() -> None:
    values = np.random.default_rng(0).random(50)
    assert bootstrap_interval(values) == bootstrap_interval(values)


@pytest.mark.parametrize(
    ("values", "ends", "low", "high"),
    [
        ([1.0] * 36, (0.0, 1.0), 0.9201, 1.0),  # 1 - .05^(1/36) = .0798, about 3 in 36
        ([0.0] * 36, (0.0, 1.0), 0.0, 0.0798),
        ([0.5] * 36, (0.0, 1.0), 0.4600, 0.5399),
        ([0.0] * 36, (-1.0, 1.0), -0.0798, 0.0798),
        ([0.3], (0.0, 1.0), 0.015, 0.965),
    ],
)
def test_without_variation_the_interval_is_that_of_the_rule_of_three(
    values: list[float], ends: tuple[float, float], low: float, high: float
) -> None:
    found = bootstrap_interval(np.array(values, np.float64), ends=ends)
    assert found.mean == values[0]
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def test_nothing_has_no_interval() -> None:
    found = bootstrap_interval(np.array([], np.float64))
    assert (found.mean, found.low, found.high) == (0.0, 0.0, 0.0)


def test_what_is_undefined_is_not_a_number() -> None:
    for found in (
        bootstrap_of(lambda _: 1.0, 0), bootstrap_of(lambda _: math.nan, 9), wilson_interval(0, 0),
    ):  # fmt: skip
        assert np.isnan([found.mean, found.low, found.high]).all()
    found = bootstrap_of(lambda drawn: math.nan if drawn[0] == 1 else 2.0, 3)
    assert (found.mean, found.low, found.high) == (2, 2, 2)


def test_a_share_has_the_interval_of_scipy() -> None:
    found = wilson_interval(603, 1_000)
    theirs = binomtest(603, 1_000).proportion_ci(method="wilson")
    assert (found.mean, found.low, found.high) == pytest.approx((0.603, theirs.low, theirs.high))
