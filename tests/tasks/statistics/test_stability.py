"""Laws of the stability of labels."""

import krippendorff
import numpy as np
import pytest

from tasks.statistics.stability import Stability, alarm, stability

COUNTS = [
    {(0, 0): 30, (1, 1): 15, (0, 1): 3, (1, 0): 2},
    {(0, 0): 5, (1, 1): 5},
    {(0, 1): 4, (1, 0): 4},
    {(0, 0): 1, (0, 1): 1},
]


@pytest.mark.parametrize("counts", COUNTS)
def test_alpha_is_that_of_an_independent_library(counts: dict[tuple[int, int], int]) -> None:
    ratings = np.array([pair for pair, number in counts.items() for _ in range(number)]).T
    expected = krippendorff.alpha(ratings.astype(float), level_of_measurement="nominal")
    found = stability(counts)
    assert found.alpha == pytest.approx(expected)
    assert found.pairs == sum(counts.values())
    assert found.equal == counts.get((0, 0), 0) + counts.get((1, 1), 0)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= expected <= found.high


@pytest.mark.parametrize("counts", [{}, {(1, 1): 9}, {(0, 0): 3}])
def test_alpha_of_labels_that_are_all_equal_is_undefined(
    counts: dict[tuple[int, int], int],
) -> None:
    assert stability(counts).alpha is None
    assert alarm(stability(counts), 0.9, 0.8) == ""


def test_a_small_sample_without_a_difference_proves_less_than_a_large_one() -> None:
    small, large = stability({(0, 0): 5, (1, 1): 5}), stability({(0, 0): 500, (1, 1): 500})
    assert small.alpha == large.alpha == 1.0
    assert small.low is not None
    assert large.low is not None
    assert small.low < 0.85
    assert large.low > 0.99


@pytest.mark.parametrize(
    ("shares", "pairs"), [((0.6, 0.05, 0.05, 0.3), 50), ((0.8, 0.02, 0.02, 0.16), 100)]
)
def test_the_interval_holds_the_true_alpha_in_about_95_of_100_samples(
    shares: tuple[float, ...], pairs: int
) -> None:
    ones = shares[3] + (shares[1] + shares[2]) / 2
    true = 1 - (shares[1] + shares[2]) / (2 * ones * (1 - ones))
    generator = np.random.default_rng(3)
    held = 0
    for cells in generator.multinomial(pairs, shares, 300):
        keys = ((0, 0), (0, 1), (1, 0), (1, 1))
        found = stability(dict(zip(keys, map(int, cells), strict=True)))
        held += found.low is not None and found.high is not None and found.low <= true <= found.high
    assert 273 <= held <= 300


@pytest.mark.parametrize(
    ("alpha", "high", "before", "words"),
    [
        (0.9, 0.95, None, ""),
        (0.9, 0.95, 0.93, ""),
        (0.79, 0.9, None, "is below 0.8"),
        (0.85, 0.9, 0.97, "has fallen: the audit before gave 0.970"),
        (0.85, 0.98, 0.97, ""),
    ],
)
def test_an_alarm_is_raised_below_the_least_alpha_and_where_it_has_fallen(
    alpha: float, high: float, before: float | None, words: str
) -> None:
    found = Stability(pairs=50, equal=45, alpha=alpha, low=0.5, high=high)
    said = alarm(found, before, 0.8)
    assert words in said
    assert bool(said) == bool(words)
