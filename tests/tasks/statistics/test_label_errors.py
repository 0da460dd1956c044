"""Laws of figures that are corrected for errors of labels."""

import numpy as np
import pytest

from infra.errors import EstimationError
from tasks.statistics import Values
from tasks.statistics.label_errors import corrected_mean, more_to_halve, rogan_gladen
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
    assert found.interval.mean == pytest.approx(float(theirs), abs=1e-12)
    low, high = ppi_py.ppi_mean_ci(true[sample], labelled[sample], labelled[rest], alpha=0.05)
    # Theirs is wider: it is of the items' source, and ours of these items.
    width = found.interval.high - found.interval.low
    assert width == pytest.approx(float(high[0] - low[0]), rel=0.15)


def test_intervals_cover_the_truth_and_are_narrower_than_the_samples() -> None:
    covered, checked, widths, alone = 0, 0, 0.0, 0.0
    for seed in range(500):
        true, labelled = labels_that_err(seed)
        sample = np.random.default_rng([seed, 1]).choice(ITEMS, 300, replace=False)
        share = float(labelled.mean())
        found = corrected_mean(true[sample], labelled[sample], share, ITEMS)
        covered += found.interval.low <= true.mean() <= found.interval.high
        widths += found.interval.high - found.interval.low
        alone += found.sample_alone.high - found.sample_alone.low
        check = rogan_gladen(true[sample], labelled[sample], share, ITEMS)
        assert check
        checked += check.low <= true.mean() <= check.high
    assert 0.93 <= covered / 500 <= 0.97
    assert 0.93 <= checked / 500 <= 0.99
    assert widths < 0.7 * alone


def test_a_sample_without_an_error_does_not_show_that_there_is_none() -> None:
    true = np.array([1.0] * 7 + [0.0] * 21)
    found = corrected_mean(true, true, 0.25, 10_000).interval
    assert found.mean == 0.25
    # As the rule of three has it: up to 3 of 28 may err.
    assert found.low == pytest.approx(0.25 - 3 / 28, abs=0.01)
    assert found.high == pytest.approx(0.25 + 3 / 28, abs=0.01)


def test_rogan_and_gladen_give_back_the_share_that_was_put_in() -> None:
    true = np.array([1.0] * 40 + [0.0] * 60)
    labelled = np.array([1.0] * 36 + [0.0] * 4 + [1.0] * 6 + [0.0] * 54)
    # sensitivity .9, specificity .9: a share of .42 comes from .4
    found = rogan_gladen(true, labelled, 0.42, 10_000_000)
    assert found
    assert found.mean == pytest.approx((0.42 + 55 / 62 - 1) / (37 / 42 + 55 / 62 - 1), abs=1e-6)
    assert found.low < 0.4 < found.high


@pytest.mark.parametrize(
    ("true", "labelled"),
    [([1, 1, 1], [1, 1, 0]), ([0, 0, 0], [1, 0, 0]), ([1, 1, 0, 0], [0, 0, 1, 1])],
    ids=["matches alone", "no match", "worse than chance"],
)
def test_there_is_no_share_where_the_labels_say_nothing(
    true: list[float], labelled: list[float]
) -> None:
    assert rogan_gladen(np.array(true), np.array(labelled), 0.5, 100) is None


def test_labels_that_do_not_pair_up_are_refused() -> None:
    with pytest.raises(EstimationError, match="2 labels of people and 3 others"):
        rogan_gladen(np.array([1.0, 0.0]), np.array([1.0, 0.0, 1.0]), 0.5, 100)


@pytest.mark.parametrize(("sampled", "population"), [(100, 1_000), (300, 412_080), (7, 20)])
def test_so_many_more_halve_the_interval(sampled: int, population: int) -> None:
    more = more_to_halve(sampled, population)

    def squared_width(size: int) -> float:
        return 1 / size - 1 / population

    assert squared_width(sampled + more) <= squared_width(sampled) / 4
    assert squared_width(sampled + more - 1) > squared_width(sampled) / 4


def test_a_sample_of_all_items_leaves_nothing_to_halve() -> None:
    assert more_to_halve(20, 20) == 0
    values = np.array([0.0, 1.0, 1.0])
    assert sample_mean(values, 3).low == sample_mean(values, 3).high
