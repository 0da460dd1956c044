"""Laws of paired tests, with scipy's permutation test as the independent judge."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.statistics.comparisons import compare, holm, randomisation_test

QUICK = settings(deadline=None, max_examples=60)


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
