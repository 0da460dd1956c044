"""Laws of paired tests, by scipy's permutation test, and of confidence sequences at every look."""

from math import inf, log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.statistics.comparisons import (
    FEWEST,
    compare,
    holm,
    neighbours,
    randomisation_test,
    sequence_interval,
)

QUICK = settings(deadline=None, max_examples=60)
Table = npt.NDArray[Any]  # (streams, looks)
STREAMS, LENGTH = 2_000, 500


@pytest.mark.parametrize("shift", [0.0, 0.2, 0.6])
def test_a_p_value_is_the_exact_one_up_to_the_draws(shift: float) -> None:
    differences = np.random.default_rng(5).normal(shift, 1.0, size=14)
    exact = scipy.stats.permutation_test(
        (differences, np.zeros(14)), lambda x, y, axis: (x - y).mean(axis=axis),
        permutation_type="samples", vectorized=True, n_resamples=2**14,
    ).pvalue  # fmt: skip
    found = randomisation_test(differences[None, :], rounds=50_000)
    assert found[0] == pytest.approx(exact, abs=0.01)


def test_methods_that_do_not_differ_are_told_apart_one_time_in_twenty() -> None:
    differences = np.random.default_rng(9).normal(size=(800, 40))
    assert 0.03 <= np.mean(randomisation_test(differences, rounds=1_000) < 0.05) <= 0.07


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # 4 x .005, 3 x .01, 2 x .03
        ([0.6, 0.5], [1.0, 1.0]),
        ([0.2], [0.2]),
        ([], []),
    ],
)
def test_holm_steps_down(p_values: list[float], expected: list[float]) -> None:
    assert holm(np.array(p_values)).tolist() == pytest.approx(expected)


@QUICK
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_a_correction_never_lowers_a_p_value_nor_changes_their_order(values: list[float]) -> None:
    p_values = np.array(values)
    corrected = holm(p_values)
    assert (corrected >= p_values - 1e-15).all()
    assert (np.diff(corrected[np.argsort(p_values, kind="stable")]) >= 0).all()
    assert (corrected <= np.minimum(1, p_values * len(values)) + 1e-15).all()


def test_every_pair_is_compared_once_the_better_first() -> None:
    generator = np.random.default_rng(0)
    noise = generator.normal(scale=0.1, size=(3, 200))
    found = compare({"a": noise[0], "b": noise[1] + 0.5, "c": noise[2]})
    assert {(each.better, each.worse) for each in found[:2]} == {("b", "a"), ("b", "c")}
    assert {found[2].better, found[2].worse} == {"a", "c"}
    assert [each.corrected < 0.05 for each in found] == [True, True, False]
    assert all(each.difference >= 0 for each in found)


def test_equal_methods_and_no_queries_are_never_significant() -> None:
    same = np.linspace(0, 1, 9)
    assert [each.corrected for each in compare({"a": same, "b": same})] == [1.0]
    assert [each.p_value for each in compare({"a": same[:0], "b": same[:0]})] == [1.0]
    assert compare({"a": same}) == []


def separated(values: Table, level: float) -> Table:
    """Return (streams, looks) whether the interval is off 0, for all streams at once."""
    number = np.arange(1, values.shape[1] + 1)
    mean = values.cumsum(1) / number
    variance = (3 + (values**2).cumsum(1) - number * mean**2) / (number + 3)
    rho = (-2 * log(1 - level) + log(-2 * log(1 - level)) + 1) / 100
    spread = number * rho + 1
    radius = np.sqrt(
        variance * 2 * spread / (number**2 * rho) * np.log(np.sqrt(spread) / (1 - level))
    )
    found: Table = (np.abs(mean) > radius) & (number >= FEWEST)
    return found


def reciprocal_ranks(generator: np.random.Generator, gap: float) -> Table:
    """Return differences of two methods' reciprocal ranks, whose mean is about the gap."""
    ranks = 1 / np.arange(1, 12.0)
    first, second = (generator.choice(ranks, (STREAMS, LENGTH)) for _ in range(2))
    differ = generator.random((STREAMS, LENGTH)) < 0.4
    better = generator.random((STREAMS, LENGTH)) < 2 * gap
    found: Table = np.clip(differ * (first - second) + 0.5 * better, -1, 1)
    return found


def rare(generator: np.random.Generator, share: float) -> Table:
    """Return differences of mean 0 of which a small share is far from it."""
    return (generator.random((STREAMS, LENGTH)) < share) - share


def test_the_streams_of_this_test_have_the_function_s_intervals() -> None:
    values = np.random.default_rng(3).uniform(-0.4, 0.6, 80)
    for number in (FEWEST, 33, 80):
        found = sequence_interval(values[:number])
        is_off = found.low > 0 or found.high < 0
        assert separated(values[None], 0.95)[0, number - 1] == is_off


@pytest.mark.parametrize("level", [0.95, 0.995])
@pytest.mark.parametrize("kind", ["ranks", 0.1, 0.05, 0.02, "signs"])
def test_at_most_the_promised_share_of_streams_is_falsely_separated_at_any_look(
    level: float, kind: str | float
) -> None:
    generator = np.random.default_rng(0)
    if kind == "ranks":
        values = reciprocal_ranks(generator, 0)
    elif isinstance(kind, float):
        values = rare(generator, kind)
    else:
        values = generator.choice([-0.5, 0.5], (STREAMS, LENGTH))
    assert separated(values, level).any(1).mean() <= 0.05


@pytest.mark.parametrize(("gap", "most"), [(0.05, 300), (0.1, 110), (0.2, 45)])
def test_a_true_gap_is_seen_after_fewer_queries_than_a_fixed_500(gap: float, most: int) -> None:
    found = separated(reciprocal_ranks(np.random.default_rng(0), gap), 0.95)
    stops = np.where(found.any(1), found.argmax(1) + 1, LENGTH)
    assert np.median(stops) <= most


@pytest.mark.parametrize(
    ("level", "number", "deviations"),
    [
        (0.95, 20, 0.7484),  # of the package ville 0.1.0, the mixture that is tightest at 100
        (0.95, 100, 0.3035),
        (0.95, 500, 0.1412),
        (0.995, 20, 0.9049),
        (0.995, 100, 0.3775),
        (0.995, 500, 0.1734),
    ],
)
def test_an_interval_is_as_wide_as_an_independent_implementation_s(
    level: float, number: int, deviations: float
) -> None:
    values = np.array([0.5, -0.5] * (number // 2))
    deviation = sqrt((3 + number / 4) / (number + 3))
    found = sequence_interval(values, level=level)
    assert found.mean == 0
    assert found.high == pytest.approx(deviations * deviation, rel=0.01)
    assert found.low == -found.high


def test_before_twenty_values_nothing_is_known_and_equal_values_do_not_make_it_sure() -> None:
    few = sequence_interval(np.full(FEWEST - 1, 0.5))
    assert (few.low, few.high) == (-inf, inf)
    equal = sequence_interval(np.full(100, 0.5))
    assert equal.high - equal.mean == pytest.approx(0.3035 * sqrt(3 / 103), rel=0.01)


def test_neighbours_are_separated_near_or_open_and_follow_the_order() -> None:
    base = np.random.default_rng(1).uniform(0, 0.5, 400)
    scores = {"best": base + 0.4, "near": base, "same": base - 1e-6, "low": base - 0.3}
    found = neighbours(scores, 3, 0.1)
    assert [(each.better, each.worse, each.standing) for each in found] == [
        ("best", "near", "separated"),
        ("near", "same", "within the margin"),
        ("same", "low", "separated"),
    ]
    assert [each.standing for each in neighbours(scores, 2, 0.001)] == ["separated", "open"]
    assert len(neighbours(scores, 1, 0.1)) == 1
    assert neighbours({"alone": base}, 3, 0.1) == []
