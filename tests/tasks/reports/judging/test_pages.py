"""Laws of the pages about a run of judges.

Covers `tasks.reports.judging.run`.
"""

from infra.ids import CodeId, QueryId, RecipeId
from infra.records import Annotation
from infra.summaries import CanaryCounts
from tasks.reports.judging import JudgedPair, JudgedRun, funnel_markdown, pairs_markdown

SLOW = Annotation(
    query_id=QueryId("q1"), code_id=CodeId("c1"), recipe_id=RecipeId("r"), status="labelled",
    label=1, path="unclear_passed", seconds=125.0,
)  # fmt: skip
FAILED = Annotation(
    query_id=QueryId("q2"), code_id=CodeId("c2"), recipe_id=RecipeId("r"), status="failed",
    path="model_unavailable", reason="no <answer> | " + "x" * 500, seconds=3.0,
)  # fmt: skip
RUN = JudgedRun(
    collection="a_collection",
    model="openai/m",
    pending=10,
    canaries=CanaryCounts(),
    endings=(("labelled", "unclear_passed", 1, 5), ("failed", "model_unavailable", None, 3)),
    spent_usd=0.042,
    spent_tokens=12_000,
    slowest=(JudgedPair.of(SLOW), JudgedPair.of(FAILED)),
    failed=(JudgedPair.of(FAILED),),
)


def test_the_funnel_counts_what_became_of_the_pending_pairs_by_path() -> None:
    page = funnel_markdown(RUN)
    for row in (
        "| pending | 10 | 100.0% |", "| judged | 8 | 80.0% |", "| labelled | 5 | 50.0% |",
        "| undecided | 0 | 0.0% |", "| failed | 3 | 30.0% |",
        "| labelled | unclear passed | 1 | 5 |", "| failed | model unavailable | \N{EN DASH} | 3 |",
    ):  # fmt: skip
        assert row in page
    assert "$0.042 and 12,000 tokens" in page


def test_a_run_that_judged_nothing_has_a_page_too() -> None:
    empty = RUN.model_copy(update={"endings": (), "slowest": (), "failed": (), "pending": 0})
    assert "No pair was judged." in funnel_markdown(empty)
    assert pairs_markdown(empty).count("None.") == 2


def test_slow_and_failed_pairs_are_named_with_the_command_that_shows_them() -> None:
    page = pairs_markdown(RUN)
    assert "`cosqa pair QUERY CODE`" in page
    assert "| 2 min 5 s | unclear passed | labelled | q1 | c1 |" in page
    assert page.count("no &lt;answer&gt; \\| xxx") == 2, "what a model wrote is text"
    assert len(page) < 2_000, "and is cut"
    assert "2 more failed." in page


def test_the_most_frequent_failure_is_named_with_a_reason() -> None:
    assert RUN.most_often("failed").startswith("model unavailable (no <answer> | xxx")
    assert RUN.most_often("labelled") == "unclear passed"
    assert RUN.most_often("undecided") == ""
