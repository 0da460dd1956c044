"""Laws of the mean with a control variate: it covers, and is never wider than the sample alone."""

from collections.abc import Callable

import numpy as np
import pytest

from infra.errors import EstimationError
from tasks.statistics import Values
from tasks.statistics.control_variate import controlled_mean
from tasks.statistics.sampling import DIFFERENCES, SCORES, Scale, sample_mean

WIDE = Scale(-100.0, 100.0, skewed=False)


def test_a_case_computed_by_hand() -> None:
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


def test_all_items_leave_no_doubt() -> None:
    values, covariate = np.array([0.1, 0.9, 0.4]), np.array([0.2, 0.8, 0.5])
    found = controlled_mean(values, covariate, 0.5, 3).interval
    assert found.low == found.mean == found.high == pytest.approx(1.4 / 3)


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
