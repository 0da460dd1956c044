"""Laws of the evidence of a judged pair: nothing is missing, and what a model wrote is text."""

import re
from html import unescape

from tasks.reports.evidence import SpecifiedPart
from tasks.reports.render import html_page
from tests.fakes.reports import JUDGED_BY, hostile_judgement, judgement_page, realistic_annotation

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
        "Calls call expected actual second reader answer('192.168.0.1') True as demanded answer",
        "answer('::1') True gave False open does not count answer",
        "answer('256.1.1.1') False gave True False answer",
        "answer('') False not run OSError: no socket answer",
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


def test_calls_and_test_come_first_and_the_harness_is_folded() -> None:
    pair = realistic_annotation()
    own = "def adapted_answer(a):\n    return a\n\ndef test_claim_1():\n    assert True"
    harness = "def compare(a):\n    pass\n" * 150
    run = pair.executions[0].model_copy(update={"program": f"{harness}{own}"})
    page = html_page(judgement_page(pair.model_copy(update={"executions": (run,)}), JUDGED_BY))
    shown = " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())
    order = [
        "Calls",
        "Test runs",
        "adapted_answer",
        "harness, 300 lines",
        "Decision",
        "Model calls",
    ]
    places = [shown.index(words) for words in order]
    assert places == sorted(places)
    folded = page.split("harness, 300 lines")[1].split("</details>")[0]
    assert folded.count("compare") == 150
    assert page.count("compare") == 150


def test_a_written_program_is_shown_whole_whatever_its_names() -> None:
    pair = realistic_annotation()
    program = "import os\n\ndef adapted_answer():\n    pass"
    run = pair.executions[0].model_copy(update={"program": program})
    page = html_page(judgement_page(pair.model_copy(update={"executions": (run,)})))
    assert "harness" not in page


def test_a_flood_of_output_is_cut() -> None:
    flood = html_page(hostile_judgement("x" * 200_000))
    assert len(flood) < len(html_page(hostile_judgement("x"))) + 160_000
    assert "characters left out" in flood
