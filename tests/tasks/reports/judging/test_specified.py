"""Laws of what is shown of a pair that was judged by its query's specification.

Covers `tasks.reports.judging.specified`.
"""

import re
from html import unescape

from tasks.reports.judging import SpecifiedPart, specified_text
from tasks.reports.run import render_html
from tests.fakes.reports import JUDGED_BY, realistic_report

CLEAR = JUDGED_BY.specification.model_copy(
    update={"clarity": "clear", "is_underspecified": False, "left_open": ()}
)


def on_the_page(part: SpecifiedPart) -> str:
    """Return the text of a page whose only pair was judged by a part, one space between words."""
    report = realistic_report()
    pair = report.pairs[0].model_copy(update={"specified": part})
    page = render_html(report.model_copy(update={"pairs": (pair,)}))
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_the_terminal_shows_specification_and_claims() -> None:
    assert specified_text(JUDGED_BY).splitlines() == [
        "",
        "-- what the query demands",
        "underspecified: code right for one reading may be wrong for another",
        "Reading:",
        "  tell whether a text is an IP address",
        "Other readings:",
        "  of version 4 alone",
        "  of version 4 or 6",
        "Demands:",
        "  true for a well-formed address",
        "  false for any other text",
        "Left open:",
        "  names of parameters",
        "  what happens on input that is no text",
        "First reading of the code: unclear behaviour",
        "Calls:",
        "  '192.168.0.1' => True: as demanded",
        "  '::1' => True: gave False; a second reader demands open",
        "  '256.1.1.1' => False: gave True; a second reader demands False",
        "  '' => False: not run: OSError: no socket",
        "  'a' * 300 => False: not run",
    ]


def test_the_page_shows_each_claim_with_what_the_code_gave_and_who_confirms_it() -> None:
    shown = on_the_page(JUDGED_BY)
    for words in (
        "What the query demands underspecified",
        "Left open names of parameters what happens on input that is no text",
        "answer('192.168.0.1') True as demanded not asked",
        "answer('::1') True gave False open does not count",
        "answer('256.1.1.1') False gave True False answer('')",
        "not run OSError: no socket not asked",
    ):
        assert words in shown


def test_a_clear_query_bears_no_mark_and_parts_without_lines_are_left_out() -> None:
    part = JUDGED_BY.model_copy(update={"specification": CLEAR, "claims": (), "verdict": ""})
    shown = on_the_page(part)
    assert "What the query demands Reading" in shown
    assert "No call shows what is demanded." in shown
    assert "Left open" not in shown
    text = specified_text(part)
    assert "underspecified" not in text
    assert text.endswith("Calls: none shows what is demanded")
