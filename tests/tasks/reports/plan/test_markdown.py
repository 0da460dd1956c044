"""Laws of a plan in words.

Covers `tasks.reports.plan.record`.
"""

from flows.options import Extent
from infra.ids import RecipeId
from infra.records import Record
from tasks.forecast.pairs import Amount, Expected
from tasks.reports.plan import (
    HEADER,
    Cause,
    ReasonPlan,
    RunPlan,
    plan_markdown,
    plan_notes,
    plan_question,
    plan_rows,
    plan_sentence,
)
from tasks.reports.text import NONE

RETRY_ALL = Extent.model_fields["retry_all"]
EXPECTED = Expected(
    requests=Amount(expected=360, low=300, high=420),
    tokens=Amount(expected=500_000),
    usd=Amount(expected=1.5, low=1.2, high=1.8),
    minutes=Amount(expected=2, low=1, high=3),
)
PLAN = RunPlan(
    collection="std<lib>",
    recipe_id=RecipeId("r"),
    model="openai/m",
    configuration="gated",
    candidates=600,
    fresh=188,
    without_code=2,
    canaries=12,
    reasons=(
        ReasonPlan(reason="new_queries", pending=40, taken=40, expected=EXPECTED),
        ReasonPlan(
            reason="stale", pending=370, taken=200, expected=EXPECTED,
            causes=(Cause(part="prompt of arbiter", pairs=300), Cause(part="model", pairs=70)),
        ),
        ReasonPlan(reason="failed", pending=0, taken=0, not_due=3),
        ReasonPlan(reason="disagreement", pending=2, taken=0),
    ),
    expected=EXPECTED.model_copy(update={"usd": None}),
    basis="measured here",
    budget_usd=2.0,
)  # fmt: skip


def with_(**changes: object) -> RunPlan:
    changed: Record = PLAN.model_copy(update=changes)
    assert isinstance(changed, RunPlan)
    return changed


def test_the_sentence_names_what_is_taken_of_what_is_pending() -> None:
    assert plan_sentence(PLAN) == (
        "240 of 412 pending pairs of std<lib>: new queries 40, stale 200"
    )
    assert plan_sentence(with_(reasons=())) == "0 of 0 pending pairs of std<lib>"


def test_the_table_has_a_row_for_each_reason_and_one_for_all() -> None:
    rows = plan_rows(PLAN)
    assert {len(row) for row in rows} == {len(HEADER)}
    assert rows[0] == (
        "new queries", "40", "40", "360 (300 to 420)", "about 500,000", "$1.50 ($1.20 to $1.80)",
        "2 min 0 s (1 min 0 s to 3 min 0 s)",
    )  # fmt: skip
    assert rows[-1][:3] == ("in all, with 12 canaries", "412", "240")
    assert rows[-1][5] == "unknown"
    assert rows[3][3:] == (NONE,) * 4


def test_the_notes_say_what_changed_and_what_waits() -> None:
    notes = "\n".join(plan_notes(PLAN))
    assert "stale, by what has changed since: prompt of arbiter 300, model 70" in notes
    assert "3 failed pairs are not due yet" in notes
    assert f'"{RETRY_ALL.title}"' in notes
    assert "2 pairs are skipped" in notes
    assert "$2.00 are spent" in notes
    assert notes.endswith("measured here")
    assert "demo" not in notes


def test_the_demo_model_is_named_as_such_wherever_a_plan_is_shown() -> None:
    demo = with_(demo=True)
    for told in ("\n".join(plan_notes(demo)), plan_markdown(demo), plan_question(demo)):
        assert "the demo model: it judges a few pairs in all" in told
        assert "neither meaningful nor exported" in told


def test_the_page_escapes_what_it_is_given() -> None:
    page = plan_markdown(PLAN)
    assert "std&lt;lib&gt;" in page
    assert "<lib>" not in page
    assert "188 with a fresh label" in page
    assert "- stale: judged by a former recipe" in page
