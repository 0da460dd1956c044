"""Laws of agreement, majorities and the alternative annotator test.

By published examples, by scikit-learn as the judge, and by hand.
"""

import math
import random
from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student
from sklearn.metrics import cohen_kappa_score

from tasks.statistics.agreement import (
    Grades,
    agreement,
    alphas_of_rounds,
    alt_test,
    average_variance,
    cohen_kappa,
    cronbach_alpha,
    krippendorff_alpha,
    majority,
)

QUICK = settings(deadline=None, max_examples=60)
N = np.nan
# Four judges, twelve units: the worked example of Krippendorff's "Computing Krippendorff's
# Alpha-Reliability" (2011), whose answers are .743 nominal and .815 ordinal.
EXAMPLE = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
        [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
    ]
)
GRADES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=40)
PAIRS = [(f"q{number}", "c") for number in range(40)]


def test_alpha_is_that_of_the_published_example() -> None:
    assert round(krippendorff_alpha(EXAMPLE, "nominal"), 3) == 0.743
    assert round(krippendorff_alpha(EXAMPLE, "ordinal"), 3) == 0.815


def test_units_that_fewer_than_two_judges_rated_do_not_count() -> None:
    alone = np.hstack([EXAMPLE, np.array([[9], [N], [N], [N]])])
    assert krippendorff_alpha(alone, "nominal") == krippendorff_alpha(EXAMPLE, "nominal")


def test_alpha_is_1_for_perfect_agreement_and_undefined_without_variation() -> None:
    assert krippendorff_alpha(np.array([[0.0, 1, 1], [0, 1, 1]]), "nominal") == pytest.approx(1)
    assert np.isnan(krippendorff_alpha(np.ones((2, 3)), "nominal"))
    assert np.isnan(krippendorff_alpha(np.full((2, 3), N), "ordinal"))


@QUICK
@given(GRADES)
def test_kappa_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    first, second = (list(ratings) for ratings in zip(*pairs, strict=True))
    if len(set(first) | set(second)) > 1:
        expected = cohen_kappa_score(first, second, weights="quadratic", labels=range(4))
        assert cohen_kappa(first, second, range(4)) == pytest.approx(expected, abs=1e-9)


def test_kappa_knows_how_far_grades_lie_apart_whichever_were_given() -> None:
    first, second = [0, 0, 1, 3, 3], [0, 1, 1, 3, 0]  # no 2
    expected = cohen_kappa_score(first, second, weights="quadratic", labels=[0, 1, 2, 3])
    assert cohen_kappa(first, second, range(4)) == pytest.approx(expected)
    assert cohen_kappa(first, second, (0, 1, 3)) != pytest.approx(expected)


def test_kappa_without_variation_is_undefined() -> None:
    assert np.isnan(cohen_kappa([1, 1], [1, 1], (0, 1)))
    assert np.isnan(cohen_kappa([], [], (0, 1)))


def test_cronbach_alpha_of_a_case_worked_by_hand() -> None:
    scores = np.array([[1.0, 2], [2, 4], [3, 3]])  # variances 1 and 1, of the sums 3, 6, 6: 3
    assert cronbach_alpha(scores) == pytest.approx(2 * (1 - 2 / 3))


def test_cronbach_alpha_of_the_published_table_is_the_published_one() -> None:
    """MMRR of UniXcoder, CodeT5+ and CodeBERT on queries with 2 to 5 matches, v1's Tables 6 to 8.

    Subjects are the four groups, items the models; the paper says .956.
    """
    mmrr = [
        [0.192, 0.213, 0.229, 0.273],
        [0.124, 0.141, 0.159, 0.193],
        [0.265, 0.265, 0.275, 0.301],
    ]
    assert cronbach_alpha(np.array(mmrr).T) == pytest.approx(0.956, abs=0.0005)
    assert cronbach_alpha(np.array(mmrr)) == pytest.approx(0.9937, abs=0.0001), (
        "the other way round"
    )


def test_items_that_rise_together_have_a_cronbach_alpha_of_1() -> None:
    assert cronbach_alpha(np.array([[1.0, 1], [2, 2], [5, 5]])) == pytest.approx(1)
    assert np.isnan(cronbach_alpha(np.ones((3, 2))))
    assert np.isnan(cronbach_alpha(np.ones((1, 2))))


def test_variance_over_the_number_of_matches_is_averaged_over_methods() -> None:
    scores = np.array([[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 1.3]])
    assert average_variance(scores) == pytest.approx((0 + 0.16) / 2)


@pytest.mark.parametrize(
    ("votes", "label"),
    [
        ((), None),
        ((None,), None),
        ((1,), 1),
        ((1, 0), None),
        ((1, None), None),
        ((1, 1), 1),
        ((1, 0, 1), 1),
        ((0, None, 0), 0),
        ((0, 2, 2), 2),
        ((0, 1, 2), None),
        ((1, None, None), None),
        ((1, 0, None), None),
        ((1, 1, 0, 0), None),
    ],
)
def test_a_majority_is_more_than_half_of_all_votes(
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


def test_a_person_the_judge_and_the_others_are_compared_by_hand() -> None:
    """Ten items: the judge is with both others on 9, one person on 6, all differ on none."""
    pairs = PAIRS[:10]
    truth = dict.fromkeys(pairs, 1)
    wrong = {pair: int(place >= 4) for place, pair in enumerate(pairs)}
    judged = {pair: int(place != 9) for place, pair in enumerate(pairs)}
    found = alt_test({"a": truth, "b": truth, "c": wrong}, judged)
    assert found is not None
    *_, last = found.people
    # The judge agrees with a and b on items 0 to 8, c on 4 to 9: the judge is no worse on 9 of ten.
    assert (last.annotator, last.items, last.judge, last.person) == ("c", 10, 0.9, 0.6)
    # Against a, the others are b and c: on items 0 to 3 one of two says 1, on the others both do.
    first = found.people[0]
    assert (first.judge, first.person) == (0.9, 1.0)
    assert found.advantage == pytest.approx((0.9 + 0.9 + 0.9) / 3)


def test_p_is_students_with_many_items() -> None:
    person = {pair: int(place % 8 > 0) for place, pair in enumerate(PAIRS)}
    judged = {pair: int(place % 10 > 0) for place, pair in enumerate(PAIRS)}
    truth = dict.fromkeys(PAIRS, 1)
    found = alt_test({"a": person, "b": truth, "c": truth}, judged, epsilon=0.1)
    assert found is not None
    differences = [
        float(person[pair] >= judged[pair]) - float(judged[pair] >= person[pair]) for pair in PAIRS
    ]
    value = (fmean(differences) - 0.1) / (stdev(differences) / sqrt(40))
    assert found.people[0].p == pytest.approx(float(student.cdf(value, 39)))


@pytest.mark.parametrize(
    ("right", "is_passed"), [(1.0, True), (0.95, True), (0.5, False), (0.0, False)]
)
def test_a_judge_as_good_as_people_passes_and_a_coin_does_not(
    right: float, is_passed: bool
) -> None:
    draw = random.Random(1)

    def labels(share: float) -> dict[tuple[str, str], int]:
        return {pair: int(draw.random() < share) for pair in PAIRS}

    people = {name: labels(0.9) for name in ("a", "b", "c", "d")}
    found = alt_test(people, labels(right))
    assert found is not None
    assert found.is_passed is is_passed
    assert found.winning_rate == sum(each.is_won for each in found.people) / 4


def test_fewer_than_three_people_say_nothing() -> None:
    labels = dict.fromkeys(PAIRS, 1)
    assert alt_test({"a": labels, "b": labels}, labels) is None
    apart = {"a": labels, "b": labels, "c": {("other", "c"): 1}}
    assert alt_test(apart, labels) is None, "who shares no item is compared with nobody"
