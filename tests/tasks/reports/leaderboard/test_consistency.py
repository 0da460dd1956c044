"""Consistency of a metric over queries with two to five matches."""

import pytest

from tasks.reports.leaderboard.consistency import consistency

MATCHES = {"q2": 2, "p2": 2, "q3": 3, "q4": 4, "q5": 5, "q1": 1}
EVEN = {"q2": 0.4, "p2": 0.6, "q3": 0.5, "q4": 0.5, "q5": 0.5, "q1": 9.0}
RISING = {"q2": 0.2, "p2": 0.2, "q3": 0.4, "q4": 0.6, "q5": 0.8, "q1": 9.0}


def test_a_metric_that_is_alike_over_the_groups_has_no_variance() -> None:
    better = {query: value + 0.1 for query, value in EVEN.items()}
    (found,) = consistency({"a": {"M": EVEN}, "b": {"M": better}}, MATCHES, ["M"])
    assert found.variance == pytest.approx(0.0)
    assert found.alpha == pytest.approx(1.0), "every group orders the methods alike"


def test_the_variance_is_averaged_over_the_methods() -> None:
    (found,) = consistency({"a": {"M": EVEN}, "b": {"M": RISING}}, MATCHES, ["M"])
    assert found.variance == pytest.approx((0.0 + 0.2 / 3) / 2)


def test_one_method_or_an_empty_group_says_nothing() -> None:
    assert consistency({"a": {"M": EVEN}}, MATCHES, ["M"]) == ()
    without_four = {query: number for query, number in MATCHES.items() if number != 4}
    assert consistency({"a": {"M": EVEN}, "b": {"M": RISING}}, without_four, ["M"]) == ()
