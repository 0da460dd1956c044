"""Laws of confidence intervals, with scipy's bootstrap as the independent judge."""

import numpy as np
import pytest
import scipy.stats

from tasks.statistics.intervals import bootstrap_interval


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


def test_the_same_values_give_the_same_interval_however_many_blocks_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = np.random.default_rng(0).random(50)
    whole = bootstrap_interval(values)
    monkeypatch.setattr("tasks.statistics.intervals._CELLS_AT_ONCE", 50 * 64)
    assert bootstrap_interval(values) == whole


@pytest.mark.parametrize("values", [[], [0.3], [0.3, 0.3, 0.3]])
def test_without_variation_the_interval_is_a_point(values: list[float]) -> None:
    found = bootstrap_interval(np.array(values, np.float64))
    assert found.low == pytest.approx(found.mean)
    assert found.high == pytest.approx(found.mean)
