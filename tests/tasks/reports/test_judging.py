"""Laws of the pages about a run of judges, and of what a query's specification shows of a pair."""

import re
from html import unescape

from infra.ids import CodeId, QueryId, RecipeId
from infra.records import Annotation
from infra.summaries import GoldCounts
from tasks.reports.judging import (
    JudgedRun,
    SpecifiedPart,
    judged_document,
)
from tasks.reports.render import html_page, markdown_page
from tests.fakes.reports import (
    JUDGED_BY,
    hostile_judgement,
    judgement_page,
    realistic_annotation,
)

FAILED = Annotation(
    query_id=QueryId("q2"), code_id=CodeId("c2"), recipe_id=RecipeId("r"), status="failed",
    path="model_unavailable", reason="no <answer> | " + "x" * 500, seconds=3.0,
)  # fmt: skip
RUN = JudgedRun(
    collection="a_collection",
    model="openai/m",
    pending=10,
    gold=GoldCounts(judged=6, wrong_codes=4, false_passes=1),
    endings=(("labelled", "unclear_passed", 1, 5), ("failed", "model_unavailable", None, 3)),
    spent_usd=0.042,
    spent_tokens=12_000,
    failed=(FAILED,),
)


def test_the_funnel_counts_what_became_of_the_pending_pairs_by_path() -> None:
    page = markdown_page(judged_document(RUN))
    for row in (
        "| pending | 10 | 100.0% |", "| judged | 8 | 80.0% |", "| labelled | 5 | 50.0% |",
        "| undecided | 0 | 0.0% |", "| failed | 3 | 30.0% |",
        "| labelled | unclear passed | 1 | 5 |", "| failed | model unavailable | \N{EN DASH} | 3 |",
    ):  # fmt: skip
        assert row in page
    assert "$0.042 and 12,000 tokens" in page


def test_a_run_that_judged_nothing_has_a_page_too() -> None:
    empty = RUN.model_copy(update={"endings": (), "failed": (), "pending": 0})
    page = markdown_page(judged_document(empty))
    assert "No pair was judged." in page
    assert page.count("None.") == 1


def test_failed_pairs_are_named_with_the_command_that_shows_them() -> None:
    page = markdown_page(judged_document(RUN))
    assert "`cosqa pair QUERY CODE`" in page
    assert "| 3.0 s | model unavailable | failed | q2 | c2 |" in page
    assert page.count("no &lt;answer&gt; \\| xxx") == 1, "what a model wrote is text"
    assert len(page) < 2_000, "and is cut"
    assert "2 more failed." in page
    assert "| code that does not answer | 4 | 1 |" in page


def test_the_most_frequent_failure_is_named_with_a_reason() -> None:
    assert RUN.most_often("failed").startswith("model unavailable (no <answer> | xxx")
    assert RUN.most_often("labelled") == "unclear passed"
    assert RUN.most_often("undecided") == ""


CLEAR = JUDGED_BY.specification.model_copy(
    update={"clarity": "clear", "is_underspecified": False, "left_open": ()}
)


def on_the_page(part: SpecifiedPart) -> str:
    """Return the text of a page whose only pair was judged by a part, one space between words."""
    page = html_page(judgement_page(realistic_annotation(), part))
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_the_page_shows_each_claim_with_what_the_code_gave_and_who_confirms_it() -> None:
    shown = on_the_page(JUDGED_BY)
    for words in (
        "What the query demands underspecified",
        "Left open names of parameters; what happens on input that is no text",
        "answer('192.168.0.1') => True as demanded answer",
        "answer('::1') => True gave False · a second reader demands open does not count",
        "answer('256.1.1.1') => False gave True · a second reader demands False answer",
        "answer('') => False not run OSError: no socket answer",
    ):
        assert words in shown


def test_a_clear_query_bears_no_mark_and_parts_without_lines_are_left_out() -> None:
    part = JUDGED_BY.model_copy(update={"specification": CLEAR, "claims": (), "verdict": ""})
    shown = on_the_page(part)
    assert "What the query demands Reading" in shown
    assert "underspecified" not in shown
    assert "No call shows what is demanded." in shown
    assert "Left open" not in shown


def test_a_pair_shows_every_call_and_every_execution() -> None:
    pair = realistic_annotation()
    page = html_page(judgement_page(pair))
    shown = unescape(re.sub(r"<[^>]*>", "", page))
    assert all(call.reply in shown for call in pair.calls)
    assert all(run.program in shown for run in pair.executions)
    assert "numpy==1.26.4" in shown
    assert "No module named 'numpy'" in shown


def test_a_flood_of_output_is_cut() -> None:
    flood = html_page(hostile_judgement("x" * 200_000))
    assert len(flood) < len(html_page(hostile_judgement("x"))) + 160_000
    assert "characters left out" in flood
