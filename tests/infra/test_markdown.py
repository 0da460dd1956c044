import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from infra.markdown import markdown_table, markdown_text

HOSTILE = [
    "a | b",
    "`code` and ``more``",
    "<script>alert(1)</script>",
    "[text](javascript:alert(1))",
    "![image](https://example.org/x.png)",
    "# no heading",
    "1 * 2 * 3 and _under_",
    "line\nline",
    "&lt;already&gt;",
    "https://example.org",
    "back\\slash \\| pipe",
    "- list",
    "12. list",
    "---",
    "= heading =",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_is_rendered_as_it_was_written(text: str) -> None:
    assert _shown(markdown_text(text)) == " ".join(text.split())


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1))
def test_no_escaped_text_becomes_markup(text: str) -> None:
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown_text(text))
    inner = [child.type for token in tokens for child in token.children or []]
    assert set(inner) <= {"text", "text_special"}
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_table_keeps_its_columns_whatever_its_cells_say(text: str) -> None:
    table = markdown_table(("name", "n"), [(text, "1"), ("b", "2")])
    html = MarkdownIt("gfm-like", {"linkify": False}).render(table)
    assert html.count("<tr>") == 3
    assert html.count("<td") == 4


def test_plain_words_and_figures_stay_as_they_are() -> None:
    for text in ("bag-of-words", "nDCG@10", "0.2710", "1,204", "2 min 5 s", "(a) b!", "3.x"):
        assert markdown_text(text) == text


def test_columns_of_figures_are_aligned_right() -> None:
    assert markdown_table(("name", "n"), [("a", "1")]).splitlines()[1] == "| --- | ---: |"


def _shown(markdown: str) -> str:
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    assert {token.type for token in tokens} == {"paragraph_open", "inline", "paragraph_close"}
    return "".join(child.content for token in tokens for child in token.children or [])
