"""Laws of figures that are corrected for errors of labels."""

import numpy as np
import pytest

from tasks.statistics import Values
from tasks.statistics.label_errors import corrected_mean
from tasks.statistics.sampling import sample_mean

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
