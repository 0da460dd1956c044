"""Laws of the report of an estimate: what it says, in labels and money; names are escaped."""

import pytest

from infra.settings import EstimationSettings
from tasks.estimation.records import MethodEstimate, Plan, PlanRow
from tasks.reports.document import plain
from tasks.reports.estimation import (
    EstimationReport,
    LabelPrice,
    comparison_table,
    estimate_table,
    estimation_document,
    order_table,
    plan_sentence,
    plan_table,
    refusal,
)
from tasks.reports.render import html_page, markdown_page
from tasks.reports.text import NONE
from tests.fakes.estimations import estimated, estimation_report

HOSTILE = "</title><script>document.title='owned'</script>|`x`"


def page_of(report: EstimationReport) -> str:
    return html_page(estimation_document(report))


def text_of(report: EstimationReport) -> str:
    return markdown_page(estimation_document(report))


def planned(more: int, more_alone: int) -> MethodEstimate:
    row = PlanRow(half_width=0.02, alone=100 + more_alone, combined=100 + more,
                  more_alone=more_alone, more_combined=more)  # fmt: skip
    plan = Plan(
        measure="MRR", pilot="judged", pilot_size=100, deviation=0.4, residual=0.3, rows=(row,)
    )
    return estimated().model_copy(update={"plan": plan})


@pytest.mark.parametrize(
    ("more", "alone", "price", "cost"),
    [
        (60, 60, 0.001, "about $1.20 at $0.001 a pair, 20 pairs a query."),
        (60, 95, 0.001, "about $1.20 at $0.001 a pair, 20 pairs a query; 95 by labels alone."),
        (60, 60, 0.0, "about $0.00 at $0.00 a pair, 20 pairs a query."),
        (60, 60, None, "1,200 pairs at an unknown price, 20 pairs a query."),
    ],
)
def test_the_plan_is_said_in_labels_and_money(
    more: int, alone: int, price: float | None, cost: str
) -> None:
    sentence = plan_sentence(planned(more, alone), LabelPrice(dollars_per_pair=price))
    assert sentence == f"Label 60 more queries for ± 0.02 of MRR: {cost}"


def test_one_query_is_one_and_none_is_enough() -> None:
    assert plan_sentence(planned(1, 1), LabelPrice()).startswith("Label 1 more query for")
    enough = "The labels at hand are enough for ± 0.02 of MRR."
    assert plan_sentence(planned(0, 10), LabelPrice()) == enough


def test_without_a_plan_nothing_is_promised() -> None:
    nothing = estimated().model_copy(update={"plan": None})
    assert plan_sentence(nothing, LabelPrice()) == "How many labels are needed is not known."
    report = estimation_report("one").model_copy(update={"estimates": (nothing,)})
    assert plan_table(report).rows == []
    assert "nothing to tell the spread" in page_of(report)


def test_a_row_for_each_method_and_measure_with_intervals_where_queries_were_judged() -> None:
    table = estimate_table(estimation_report("one", "two"))
    rows = table.rows
    assert table.header == (
        "method",
        "metric",
        "KAPE, no labels",
        "distinct codes",
        "judged alone",
        "judged and estimated",
    )
    assert [row[:2] for row in rows] == [
        (name, measure)
        for name in ("one", "two")
        for measure in ("MRR", "Answered@5", "NDCG@10", "Recall@10")
    ]
    score = estimated().scores["MRR"]
    assert score.sample is not None
    assert rows[0][2:4] == (f"{score.kape:.3f}", f"{score.distinct:.3f}")
    assert rows[0][4] == (
        f"{score.sample.mean:.3f} [{score.sample.low:.3f}, {score.sample.high:.3f}]"
    )
    assert [len(row) for row in estimate_table(estimation_report("one", labels=0)).rows] == [4] * 4


def test_the_plan_has_a_row_for_each_half_width_the_widest_first() -> None:
    rows = [list(map(plain, row)) for row in plan_table(estimation_report("one")).rows]
    assert [row[2] for row in rows] == ["± 0.05", "± 0.03", "± 0.02", "± 0.01"]
    more = [int(row[5]) for row in rows]
    assert more == sorted(more)
    assert all(row[6].startswith("$") for row in rows)


def test_a_comparison_says_what_the_judged_queries_tell_apart() -> None:
    report = estimation_report("one", "two")
    ((first, second, kape, *intervals, apart),) = comparison_table(report).rows
    assert (first, second) == ("one", "two")
    assert plain(kape).startswith("+")
    assert all(each != NONE for each in intervals)
    assert apart in ("yes", "no")
    assert comparison_table(estimation_report("one")).rows == []
    assert comparison_table(estimation_report("one", "two", labels=0)).rows[0][3:] == (NONE,) * 3


def test_the_truth_stands_beside_the_estimate_where_it_is_known() -> None:
    report = estimation_report("one", "two")
    assert report.comparison is not None
    known = report.comparison.model_copy(update={"truth": {"one": 0.5}, "tau": 1.0})
    table = order_table(report.model_copy(update={"comparison": known}))
    assert table.header[-1] == "truth"
    assert [row[-1] for row in table.rows] == ["0.500", "unknown"]
    page = page_of(report.model_copy(update={"comparison": known}))
    assert "tau of this order against the truth: 1.00" in page


@pytest.mark.parametrize("labels", [0, 40])
def test_a_refusal_stands_on_top_and_its_estimates_nowhere(labels: int) -> None:
    report = estimation_report("one", far=True, labels=labels)
    (estimate,) = report.estimates
    for text in (page_of(report), text_of(report)):
        assert "no estimate without labels, since the queries lie far" in text
        assert text.count("withheld") == 2 * 4 + 10  # both estimates, and k = 1 to 10
    assert refusal(estimated()) == ""
    anyway = estimated(far=True, settings=EstimationSettings(anyway=True))
    assert "an estimate not to be relied on" in refusal(anyway)
    assert estimate.distance.reason in refusal(estimate)


def test_what_must_be_known_is_said_once() -> None:
    page = page_of(estimation_report("one", "two", labels=12))
    assert page.count("5 queries overlap.") == 1
    assert page.count("12 queries are judged: below 30") == 1


def test_hostile_names_stay_text() -> None:
    report = estimation_report(HOSTILE, "two", note=HOSTILE)
    page = page_of(report)
    assert "<script" not in page
    assert page.count("</title>") == page.count("<title>")
    text = text_of(report)
    assert "<script" not in text
    assert "\n|" not in text.replace("\n| ", "")


def test_characters_that_fake_or_hide_text_are_shown() -> None:
    report = estimation_report("one", note="a\x1b[31m\u202egnp")
    for text in (page_of(report), text_of(report)):
        assert "a⟨U+001B⟩" in text
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_a_report_survives_json() -> None:
    report = estimation_report("one", "two")
    assert EstimationReport.model_validate_json(report.model_dump_json()) == report
