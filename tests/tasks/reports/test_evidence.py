"""Laws of the evidence of a judged pair: nothing is missing, and what a model wrote is text."""

import re
from html import unescape

from tasks.reports.evidence import SpecifiedPart
from tasks.reports.render import html_page
from tests.fakes.reports import (
    JUDGED_BY,
    hostile_judgement,
    judgement_page,
    realistic_annotation,
)

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
