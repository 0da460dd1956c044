"""Laws of what several people say.

Covers `tasks.statistics.people`, and of `tasks.statistics.intervals` what is not a mean.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binomtest

from tasks.statistics import Values
from tasks.statistics.agreement import krippendorff_alpha
from tasks.statistics.intervals import bootstrap_of, wilson_interval
from tasks.statistics.people import Grades, agreement, majority


def test_a_majority_is_more_than_half_of_all_votes() -> None:
    for labels, label in (
        ([1.0], 1), ([1.0, 0.0], None), ([1.0, None], None), ([1.0, 1.0, None], 1),
        ([0.0, 2.0, 2.0], 2), ([0.0, 1.0, 2.0], None), ([None], None), ([], None),
    ):  # fmt: skip
        assert majority(labels) == label, labels


def _mean_of(values: Values) -> Callable[[npt.NDArray[np.integer]], float]:
    return lambda drawn: float(values[drawn].mean())


def test_the_bootstrap_of_a_mean_covers_it_at_its_level() -> None:
    generator, covered = np.random.default_rng(1), 0
    for seed in range(200):
        values = generator.normal(3.0, 1.0, 80)
        found = bootstrap_of(_mean_of(values), 80, resamples=200, seed=seed)
        assert found.mean == values.mean()
        covered += found.low <= 3.0 <= found.high
    assert 180 <= covered <= 198


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


def test_ordered_grades_have_an_ordinal_alpha_with_its_interval() -> None:
    pairs = [(f"q{number}", "c") for number in range(40)]
    first = {pair: number % 4 for number, pair in enumerate(pairs)}
    near = {
        pair: min(grade + (number % 5 == 0), 3)
        for number, (pair, grade) in enumerate(first.items())
    }
    found = agreement({"a": first, "b": near}, 3)
    ratings = np.array([list(first.values()), list(near.values())], np.float64)
    assert found.alpha.mean == krippendorff_alpha(ratings, "ordinal")
    assert found.alpha.low < found.alpha.mean < found.alpha.high <= 1
    assert agreement({"a": first, "b": near}, 3) == found


def _grades(*people: Sequence[int]) -> Grades:
    return {
        f"by {number}": {("q", f"c{item}"): grade for item, grade in enumerate(grades)}
        for number, grades in enumerate(people)
    }


def test_agreement_is_that_worked_out_by_hand() -> None:
    found = agreement(_grades((1, 0, 1), (1, 0, 0, 1)))
    assert (found.annotators, found.pairs) == (("by 0", "by 1"), 3)
    (two,) = found.each_two
    assert two.pairs == 3
    assert two.equal == pytest.approx(2 / 3)
    # One disagreement; by chance 3 pairs x (2/3 x 1/3 + 1/3 x 2/3) = 4/3 agree, and 5/3 do not.
    assert two.kappa.mean == pytest.approx(1 - 1 / (5 / 3))
    # Three ones and three zeros: Do = 2/6, De = 2 x 3 x 3 / (6 x 5).
    assert found.alpha.mean == pytest.approx(1 - (2 / 6) / (18 / 30))


def test_kappa_weighs_by_the_scale_where_a_grade_was_never_given() -> None:
    (two,) = agreement(_grades((0, 0, 1, 3), (0, 1, 1, 0)), 3).each_two
    # Squares of 1 and 3; by chance (2 x 2 x 1 + 1 x 2 x 1 + 1 x 2 x 9 + 1 x 2 x 4) / 4 = 8.
    assert two.kappa.mean == pytest.approx(1 - (1 + 9) / 8)


def test_annotators_without_a_common_pair_are_not_compared() -> None:
    found = agreement({"a": {("q", "c"): 1}, "b": {("q", "d"): 1}})
    assert (found.pairs, found.each_two) == (0, ())
    assert math.isnan(found.alpha.mean)
