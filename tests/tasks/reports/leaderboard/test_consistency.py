"""Consistency of a metric over queries with two to five matches."""

import pytest

from tasks.reports.leaderboard.consistency import consistency

MATCHES = {"q2": 2, "p2": 2, "q3": 3, "q4": 4, "q5": 5, "q1": 1}
EVEN = {"q2": 0.4, "p2": 0.6, "q3": 0.5, "q4": 0.5, "q5": 0.5, "q1": 9.0}
RISING = {"q2": 0.2, "p2": 0.2, "q3": 0.4, "q4": 0.6, "q5": 0.8, "q1": 9.0}


def test_a_metric_that_is_alike_over_the_groups_has_no_variance() -> None:
    better = {query: value + 0.1 for query, value in EVEN.items()}
    (row,) = consistency({"a": {"M": EVEN}, "b": {"M": better}}, MATCHES, ["M"])
    assert row.variance == pytest.approx(0.0)


def test_methods_that_find_the_same_groups_hard_have_an_alpha_of_1() -> None:
    better = {query: value + 0.1 for query, value in RISING.items()}
    (row,) = consistency({"a": {"M": RISING}, "b": {"M": better}}, MATCHES, ["M"])
    assert row.alpha == pytest.approx(1.0)


# Tables 6 to 8 of arXiv 2406.11589v1: means over the queries with 2, 3, 4 and 5 matches. The paper
# prints the alpha of MMRR; the other two follow from its tables in the same orientation.
@pytest.mark.parametrize(
    ("rows", "alpha"),
    [
        (
            [
                (0.192, 0.213, 0.229, 0.273),
                (0.124, 0.141, 0.159, 0.193),
                (0.265, 0.265, 0.275, 0.301),
            ],
            0.9558,
        ),
        (
            [
                (0.307, 0.427, 0.517, 0.617),
                (0.215, 0.313, 0.404, 0.531),
                (0.405, 0.497, 0.571, 0.651),
            ],
            0.9929,
        ),
        (
            [
                (0.285, 0.381, 0.448, 0.525),
                (0.206, 0.288, 0.361, 0.457),
                (0.374, 0.416, 0.493, 0.554),
            ],
            0.9898,
        ),
    ],
    ids=["MMRR", "MRR", "MAP"],
)
def test_the_alpha_of_the_published_tables_is_the_papers(
    rows: list[tuple[float, ...]], alpha: float
) -> None:
    queries = [f"q{matches}" for matches in (2, 3, 4, 5)]
    values = {
        method: {"M": dict(zip(queries, row, strict=True))}
        for method, row in zip(("UniXcoder", "CodeT5+", "CodeBERT"), rows, strict=True)
    }
    (row,) = consistency(values, dict(zip(queries, (2, 3, 4, 5), strict=True)), ["M"])
    assert row.alpha == pytest.approx(alpha, abs=5e-5)


def test_the_variance_is_averaged_over_the_methods() -> None:
    (row,) = consistency({"a": {"M": EVEN}, "b": {"M": RISING}}, MATCHES, ["M"])
    assert row.variance == pytest.approx((0.0 + 0.2 / 3) / 2)


def test_one_method_or_an_empty_group_says_nothing() -> None:
    assert consistency({"a": {"M": EVEN}}, MATCHES, ["M"]) == ()
    without_four = {query: number for query, number in MATCHES.items() if number != 4}
    assert consistency({"a": {"M": EVEN}, "b": {"M": RISING}}, without_four, ["M"]) == ()
