"""Laws of the alternative annotator test, by hand."""

import random
from math import sqrt
from statistics import fmean, stdev

import pytest
from scipy.stats import t as student

from tasks.statistics.alt_test import alt_test

PAIRS = [(f"q{number}", "c") for number in range(40)]


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
