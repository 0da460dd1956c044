"""Laws of a plan in words, and of the question whether it may run."""

from infra.records import Record
from tasks.reports.plan import RunPlan, plan_document, plan_notes, plan_sentence, plan_table
from tasks.reports.render import markdown_page
from tests.tasks.reports.cases import PLAN


def plan_page(plan: RunPlan) -> str:
    return markdown_page(plan_document(plan))


def with_(**changes: object) -> RunPlan:
    changed: Record = PLAN.model_copy(update=changes)
    assert isinstance(changed, RunPlan)
    return changed


def test_the_sentence_names_what_is_taken_of_what_is_pending() -> None:
    assert plan_sentence(PLAN) == (
        "240 of 412 pending pairs of std<lib>: new queries 40, outdated 200"
    )
    assert plan_sentence(with_(reasons=())) == "0 of 0 pending pairs of std<lib>"


def test_the_table_has_a_row_for_each_reason_and_one_for_all() -> None:
    table = plan_table(PLAN)
    rows = table.rows
    assert {len(row) for row in rows} == {len(table.header)}
    assert rows[0] == ("new queries", "40", "40")
    assert rows[-1] == ("in all, with 12 gold questions", "412", "240")


def test_the_notes_say_what_changed_and_what_waits() -> None:
    notes = "\n".join(plan_notes(PLAN))
    assert "outdated, by what has changed since: prompt of arbiter 300, model 70" in notes
    assert "not due yet: 3 failed pairs" in notes
    assert "skipped: 2 pairs" in notes
    assert "$2.00 are spent" in notes
    assert notes.endswith(
        "expected: tokens about 500,000, cost unknown, time 2 min 0 s (1 min 0 s to 3 min 0 s); "
        "measured here"
    )


def test_the_page_says_what_is_up_to_date_and_what_the_reasons_are() -> None:
    page = plan_page(PLAN)
    assert "std&lt;lib&gt;" in page
    assert "188 up to date" in page
    assert "- outdated: judged by former settings" in page
