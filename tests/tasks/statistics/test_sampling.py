"""Laws of means of samples: intervals cover, and what is known of all items narrows them."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from infra.errors import EstimationError
from tasks.statistics import Values
from tasks.statistics.sampling import (
    DIFFERENCES,
    SCORES,
    Scale,
    Spread,
    controlled_mean,
    corrected_mean,
    sample_mean,
)


def test_a_sample_s_interval_is_that_computed_by_hand() -> None:
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


@pytest.mark.parametrize(("scale", "low"), [(SCORES, 0.0), (DIFFERENCES, -1.0)])
def test_one_value_says_nothing_of_the_spread(scale: Scale, low: float) -> None:
    found = sample_mean(np.array([0.7]), 50, scale=scale)
    assert (found.low, found.mean, found.high) == (low, 0.7, 1.0)


@pytest.mark.parametrize("scale", [SCORES, DIFFERENCES])
def test_equal_values_do_not_prove_that_all_items_are_equal(scale: Scale) -> None:
    found = sample_mean(np.full(50, 0.0), 5_000, scale=scale)
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


def test_all_items_leave_no_doubt() -> None:
    values, covariate = np.array([0.1, 0.9, 0.4]), np.array([0.2, 0.8, 0.5])
    for found in (sample_mean(values, 3), controlled_mean(values, covariate, 0.5, 3).interval):
        assert found.low == found.mean == found.high == pytest.approx(1.4 / 3)


WIDE = Scale(-100.0, 100.0, skewed=False)


def test_a_control_variate_s_case_is_that_computed_by_hand() -> None:
    values, covariate = np.array([1, 0, 0.5, 0.5]), np.array([0.8, 0.2, 0.4, 0.6])
    found = controlled_mean(values, covariate, 0.6, 10)
    # lambda = 0.3 / 0.2; residuals .05 -.05 .15 -.15, leverages .7 .7 .3 .3
    assert found.weight == pytest.approx(1.5)
    assert found.estimated == 2
    assert found.interval.mean == pytest.approx(0.5 + 1.5 * 0.1)
    others = np.array([0.05 / 0.3, 0.05 / 0.3, 0.15 / 0.7, 0.15 / 0.7]) * 3 / 4
    assert found.left == pytest.approx((others**2).sum() / 0.5)
    half = 4.302652730 * np.sqrt(0.2 * found.left / 4 * 0.6)
    assert found.interval.high == pytest.approx(0.65 + half, abs=1e-9)
    assert found.interval.low == pytest.approx(0.65 - half, abs=1e-9)


def test_the_mean_is_that_of_ppi_with_labelled_and_unlabelled_items_apart() -> None:
    generator = np.random.default_rng(0)
    estimates = generator.random(500)
    values = np.clip(estimates[:80] + generator.normal(0, 0.2, 80), 0, 1)
    labelled, unlabelled = estimates[:80], estimates[80:]
    tuned = np.cov(values, labelled)[0, 1] / ((1 + 80 / 420) * labelled.var(ddof=1))
    ppi = values.mean() + tuned * (unlabelled.mean() - labelled.mean())
    found = controlled_mean(values, labelled, float(estimates.mean()), 500)
    assert found.interval.mean == pytest.approx(ppi, abs=1e-12)


def test_each_residual_is_from_the_line_through_the_others() -> None:
    generator = np.random.default_rng(1)
    covariate = generator.random(12)
    values = np.clip(covariate + generator.normal(0, 0.1, 12), 0, 1)
    residuals, alone = np.empty(12), np.empty(12)
    for item in range(12):
        rest = np.arange(12) != item
        line = np.polyfit(covariate[rest], values[rest], 1)
        residuals[item] = values[item] - np.polyval(line, covariate[item])
        alone[item] = values[item] - values[rest].mean()
    found = controlled_mean(values, covariate, 0.5, 100)
    assert found.left == pytest.approx((residuals**2).sum() / (alone**2).sum())


@pytest.mark.parametrize("seed", range(40))
def test_it_is_never_wider_than_the_sample_alone(seed: int) -> None:
    generator = np.random.default_rng(seed)
    size = int(generator.integers(2, 40))
    values = generator.choice([0, 0.1, 0.25, 0.5, 1.0], size)
    covariate = generator.choice([0.1, 0.2, 0.9], size) + values * generator.choice([0, 0, 1])
    found = controlled_mean(values, covariate, 0.5, size + 5, scale=WIDE)
    alone = sample_mean(values, size + 5, scale=WIDE)
    width = found.interval.high - found.interval.low
    assert width <= alone.high - alone.low + 1e-12
    assert (found.weight == 0) == (found.interval == alone)


@pytest.mark.parametrize(
    ("values", "covariate"),
    [
        ([0.5, 0.5, 0.5, 0.5], [0.1, 0.2, 0.3, 0.4]),  # nothing to explain
        ([0.1, 0.9, 0.5, 0.3], [0.4, 0.4, 0.4, 0.4]),  # a constant explains nothing
        ([0.1, 0.9, 0.5, 0.3], [0.4, 0.4, 0.4, 0.9]),  # one item alone decides the slope
        ([0.1, 0.9], [0.1, 0.9]),  # no line through the others
        ([0.3], [0.3]),
    ],
)
def test_a_covariate_that_cannot_help_has_no_weight(
    values: list[float], covariate: list[float]
) -> None:
    found = controlled_mean(np.array(values), np.array(covariate), 0.5, 100)
    assert (found.weight, found.left) == (0.0, 1.0)
    assert found.interval == sample_mean(np.array(values), 100)


@pytest.mark.parametrize(
    ("covariate", "message"),
    [([0.1], "2 values and 1 estimates"), ([0.1, np.nan], "an estimate is no number")],
)
def test_estimates_that_are_none_are_refused(covariate: list[float], message: str) -> None:
    with pytest.raises(EstimationError, match=message):
        controlled_mean(np.array([0.1, 0.2]), np.array(covariate), 0.5, 10)


def reciprocal_ranks(hardness: Values, shift: float) -> Values:
    """Return what ranks of log-normal size give: heavy at 1, many small values."""
    values: Values = 1 / np.maximum(1, np.ceil(np.exp(1.6 * hardness + shift) - 0.7))
    return values


def items(size: int, kinship: float, shift: float, seed: int) -> tuple[Values, Values]:
    """Return true values, and estimates of them from five like queries each."""
    generator = np.random.default_rng(seed)
    hardness = generator.normal(size=size)
    like = kinship * hardness + np.sqrt(1 - kinship**2) * generator.normal(size=(5, size))
    return reciprocal_ranks(hardness, shift), reciprocal_ranks(like, shift).mean(axis=0)


def two_models(size: int, kinship: float, shift: float, seed: int) -> tuple[Values, Values]:
    """Return differences of two models with much in common, and estimates of them."""
    generator = np.random.default_rng(seed)
    one, other = generator.normal(size=(2, size))
    other = 0.9 * one + np.sqrt(1 - 0.9**2) * other
    like = generator.normal(size=(5, size)) * np.sqrt(1 - kinship**2)
    true = reciprocal_ranks(one, shift) - reciprocal_ranks(other, shift + 0.2)
    estimated = reciprocal_ranks(kinship * one + like, shift) - reciprocal_ranks(
        kinship * other + like, shift + 0.2
    )
    return true, estimated.mean(axis=0)


def coverage(
    population: tuple[Values, Values], size: int, splits: int, scale: Scale = SCORES
) -> tuple[float, float, float]:
    """Return the share of splits that cover, the bias, and the width against the sample alone."""
    true, estimated = population
    generator, mean = np.random.default_rng(7), true.mean()
    covering, bias, widths = 0, 0.0, np.zeros(2)
    for _ in range(splits):
        rows = generator.choice(len(true), size, replace=False)
        found = controlled_mean(
            true[rows], estimated[rows], float(estimated.mean()), len(true), scale=scale
        ).interval
        alone = sample_mean(true[rows], len(true), scale=scale)
        covering += found.low <= mean <= found.high
        bias += (found.mean - mean) / splits
        widths += (found.high - found.low, alone.high - alone.low)
    return covering / splits, bias, float(widths[0] / widths[1])


@pytest.mark.parametrize(
    ("make", "scale"), [(items, SCORES), (two_models, DIFFERENCES)], ids=["scores", "differences"]
)
def test_the_interval_covers_as_often_as_it_says_and_is_narrower(
    make: Callable[..., tuple[Values, Values]], scale: Scale
) -> None:
    share, bias, width = coverage(make(2_000, 0.7, 0.3, seed=0), 100, 500, scale)
    assert 0.93 <= share <= 0.97
    assert abs(bias) < 0.005
    assert width < 0.9


@pytest.mark.nightly
@pytest.mark.parametrize("size", [50, 100, 200])
@pytest.mark.parametrize("total", [500, 2_000])
@pytest.mark.parametrize("kinship", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("shift", [-1.6, 0.3, 3.5], ids=["high", "middle", "low"])
def test_it_covers_in_93_to_97_of_100_splits(
    size: int, total: int, kinship: float, shift: float
) -> None:
    share, bias, _ = coverage(items(total, kinship, shift, seed=3), size, 2_000)
    assert 0.93 <= share <= 0.97
    assert abs(bias) < 0.01


@pytest.mark.nightly
@pytest.mark.parametrize("size", [50, 100, 200])
@pytest.mark.parametrize("kinship", [0.0, 0.4, 0.8])
def test_so_does_that_of_a_difference(size: int, kinship: float) -> None:
    share, bias, _ = coverage(two_models(1_000, kinship, 0.3, 5), size, 2_000, DIFFERENCES)
    assert 0.93 <= share <= 0.97
    assert abs(bias) < 0.01


ITEMS = 4_000


def labels_that_err(seed: int, *, missed: float = 0.1, false: float = 0.05) -> tuple[Values, ...]:
    """Return (items,) true labels, and those of agents that err at these rates."""
    generator = np.random.default_rng(seed)
    true = (generator.random(ITEMS) < 0.3).astype(np.float64)
    errs = generator.random(ITEMS) < np.where(true == 1, missed, false)
    return true, np.where(errs, 1 - true, true)


def test_the_corrected_mean_is_ppi_plus_plus() -> None:
    ppi_py = pytest.importorskip("ppi_py", reason="the extra 'interchange' is not installed")
    true, labelled = labels_that_err(0)
    sample, rest = slice(0, 300), slice(300, None)
    found = corrected_mean(true[sample], labelled[sample], float(labelled.mean()), ITEMS)
    # The library takes the variance over all items in place of the sample's.
    covariance = np.cov(true[sample], labelled[sample])
    tuned = covariance[0, 1] / ((1 + 300 / (ITEMS - 300)) * covariance[1, 1])
    (theirs,) = ppi_py.ppi_mean_pointestimate(
        true[sample], labelled[sample], labelled[rest], lam=tuned
    )
    assert found.mean == pytest.approx(float(theirs), abs=1e-12)
    low, high = ppi_py.ppi_mean_ci(true[sample], labelled[sample], labelled[rest], alpha=0.05)
    # Theirs is wider: it is of the items' source, and ours of these items.
    width = found.high - found.low
    assert width == pytest.approx(float(high[0] - low[0]), rel=0.15)


def test_intervals_cover_the_truth_and_are_narrower_than_the_samples() -> None:
    covered, widths, alone = 0, 0.0, 0.0
    for seed in range(500):
        true, labelled = labels_that_err(seed)
        sample = np.random.default_rng([seed, 1]).choice(ITEMS, 300, replace=False)
        found = corrected_mean(true[sample], labelled[sample], float(labelled.mean()), ITEMS)
        covered += found.low <= true.mean() <= found.high
        widths += found.high - found.low
        of_sample = sample_mean(true[sample], ITEMS)
        alone += of_sample.high - of_sample.low
    assert 0.93 <= covered / 500 <= 0.97
    assert widths < 0.7 * alone


def test_a_sample_without_an_error_does_not_show_that_there_is_none() -> None:
    true = np.array([1.0] * 7 + [0.0] * 21)
    found = corrected_mean(true, true, 0.25, 10_000)
    assert found.mean == 0.25
    # As the rule of three has it: up to 3 of 28 may err.
    assert found.low == pytest.approx(0.25 - 3 / 28, abs=0.01)
    assert found.high == pytest.approx(0.25 + 3 / 28, abs=0.01)
