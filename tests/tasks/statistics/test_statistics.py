"""Laws of small statistics.

Covers `intervals`, `rounds`, `sampling`.
"""

import math

import numpy as np
import pytest
import scipy.stats

from infra.errors import EstimationError
from tasks.statistics.intervals import bootstrap_interval
from tasks.statistics.people import majority
from tasks.statistics.rounds import alphas_of_rounds
from tasks.statistics.sampling import DIFFERENCES, SCORES, Spread, sample_mean


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


@pytest.mark.parametrize(
    ("votes", "label"),
    [
        ((1,), 1),
        ((None,), None),
        ((1, 0), None),
        ((1, 1), 1),
        ((1, 0, 1), 1),
        ((0, None, 0), 0),
        ((1, None, None), None),
        ((1, 0, None), None),
        ((1, 1, 0, 0), None),
        ((), None),
    ],
)
def test_a_label_needs_more_than_half_of_all_rounds(
    votes: tuple[int | None, ...], label: int | None
) -> None:
    assert majority(votes) == label


def test_the_alpha_of_consecutive_rounds_is_krippendorffs() -> None:
    """The first two rounds differ on one of ten pairs, the last two on that one, too.

    Observed 2 / 20, expected 2 * 9 * 11 / (20 * 19), alpha 160 / 198.
    """
    votes = [(1, int(pair > 0), 1) for pair in range(5)] + [(0, 0, 0)] * 5
    assert alphas_of_rounds(votes, 3) == pytest.approx([160 / 198, 160 / 198])
    assert alphas_of_rounds([*votes, (1, None, None)], 3) == pytest.approx([160 / 198] * 2)


@pytest.mark.parametrize("votes", [[], [(1, 1)], [(1, None), (0, None)]])
def test_without_two_labels_that_differ_alpha_is_undefined(
    votes: list[tuple[int | None, ...]],
) -> None:
    assert alphas_of_rounds(votes, 2) == [None]


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
