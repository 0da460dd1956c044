import pytest
from markdown_it import MarkdownIt

from tasks.reports.run import ReportData, render_markdown
from tests.fakes.reports import METRICS, MODEL, hostile_report, realistic_report

_MARKDOWN = MarkdownIt("gfm-like", {"linkify": False})

HOSTILE = ["a | b", "</td><script>alert(1)</script>", "`x` **y** [z](javascript:a)", "# t\n\n- u"]


def _types(report: ReportData) -> list[str]:
    tokens = _MARKDOWN.parse(render_markdown(report))
    inner = [child.type for token in tokens for child in token.children or []]
    folded = ["text" if name == "text_special" else name for name in inner]
    return [token.type for token in tokens] + [name for name in folded if name != "text"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_never_changes_the_structure(text: str) -> None:
    assert _types(hostile_report(text)) == _types(hostile_report("harmless"))


def test_scores_stand_in_a_table_with_honest_ones_first() -> None:
    html = _MARKDOWN.render(render_markdown(realistic_report()))
    assert html.index("python-source-documentation") < html.index("python-source-agents")
    assert all(f">{metric}</th>" in html for metric in METRICS)
    assert ">0.6030</td>" in html


def test_an_unknown_cost_is_unknown_and_never_zero() -> None:
    text = render_markdown(realistic_report())
    assert "| cost | unknown |" in text
    assert "$0" not in text


def test_the_model_is_named() -> None:
    assert f"Model {MODEL}" in render_markdown(realistic_report())


@pytest.mark.parametrize(
    ("address", "links"),
    [
        ("https://example.org/run/1", 1),
        ("javascript:alert(1)", 0),
        ("https://example.org/>)<script>", 0),
        ("reports/report.html", 0),
    ],
)
def test_only_web_addresses_become_links(address: str, links: int) -> None:
    report = ReportData(title="t", generated_at="", benchmarks=(), links={"run": address})
    html = _MARKDOWN.render(render_markdown(report))
    assert html.count("<a href=") == links
    assert "<script>" not in html


def test_it_is_short() -> None:
    assert len(render_markdown(realistic_report())) < 4_000
    assert len(render_markdown(hostile_report("x" * 200_000)).encode()) < 20_000


def test_a_report_of_nothing_is_a_report() -> None:
    text = render_markdown(ReportData(title="Nothing", generated_at="today", benchmarks=()))
    assert text.startswith("# Nothing\n\ntoday\n")
