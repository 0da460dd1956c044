"""Laws of texts and lists: words, Markdown, parts of lists, draws.

Covers `infra.text` and `infra.subsets`.
"""

import re
from collections import Counter
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from infra.records import normalise_code
from infra.subsets import ALL, Draw, batched
from infra.text import _WORD, NOT_BLANK, is_blank, markdown_table, markdown_text, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("readJSONFile_2", ["read", "json", "file", "2"]),
        ("HTTPServer", ["http", "server"]),
        ("snake_case_name", ["snake", "case", "name"]),
        ("x1y22", ["x", "1", "y", "22"]),
        ("größe = naïve", ["größe", "naïve"]),
        ("ÉcoleNormale ÉCOLE", ["école", "normale", "école"]),
        ("the\u0301orie", ["th\xe9orie"]),
        ("HTTPX\u030aerver", ["http", "x\u030aerver"]),
        ("读取json文件2", ["读取", "json", "文件", "2"]),
        ("हिन्दी", ["हिन्दी"]),
        ("", []),
    ],
)
def test_identifiers_are_split_at_case_underscore_and_digits(
    text: str, expected: list[str]
) -> None:
    assert words(text) == expected


@given(st.text())
def test_both_spellings_of_a_letter_are_one(text: str) -> None:
    assert words(normalize("NFD", text)) == words(normalize("NFC", text))


@given(st.text(st.characters(codec="ascii")))
def test_the_quick_way_gives_the_words_of_the_other(text: str) -> None:
    assert words(text) == [word.lower() for word in _WORD.findall(text)]


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


@given(st.text(st.sampled_from("\ufeff \t\f\r\n\u2028x\\"), max_size=5))
def test_a_code_of_which_a_record_holds_nothing_is_blank(text: str) -> None:
    assert is_blank(text) >= (not normalise_code(text))
    assert bool(re.search(NOT_BLANK, text)) <= (not is_blank(text))


def test_plain_words_and_figures_stay_as_they_are() -> None:
    for text in ("bag-of-words", "nDCG@10", "0.2710", "1,204", "2 min 5 s", "(a) b!", "3.x"):
        assert markdown_text(text) == text


def test_columns_of_figures_are_aligned_right() -> None:
    assert markdown_table(("name", "n"), [("a", "1")]).splitlines()[1] == "| --- | ---: |"


def _shown(markdown: str) -> str:
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    assert {token.type for token in tokens} == {"paragraph_open", "inline", "paragraph_close"}
    return "".join(child.content for token in tokens for child in token.children or [])


@given(st.lists(st.integers()), st.integers(min_value=1, max_value=10))
def test_batches_hold_all_items_in_their_order_and_all_but_the_last_are_full(
    items: list[int], size: int
) -> None:
    batches = batched(items, size)
    assert [item for batch in batches for item in batch] == items
    assert all(len(batch) == size for batch in batches[:-1])
    assert all(1 <= len(batch) <= size for batch in batches)


IDS = [f"q{number}" for number in range(200)]


def test_a_draw_is_repeated_by_its_seed_whatever_the_order() -> None:
    assert Draw(20, 7).of(IDS) == Draw(20, 7).of([*reversed(IDS), *IDS])
    assert Draw(20, 7).of(IDS) != Draw(20, 8).of(IDS)


@pytest.mark.parametrize(("draw", "size"), [(ALL, 200), (Draw(500), 200), (Draw(20), 20)])
def test_as_many_are_drawn_as_asked_for_and_there_are(draw: Draw, size: int) -> None:
    assert len(draw.of(IDS)) == size


def test_a_larger_draw_holds_a_smaller_one() -> None:
    assert Draw(10, 3).of(IDS) < Draw(50, 3).of(IDS)


def test_each_item_is_as_likely_as_any_other() -> None:
    times = Counter(one for seed in range(400) for one in Draw(5, seed).of(IDS[:20]))
    assert set(times) == set(IDS[:20])
    assert 60 < min(times.values()) < max(times.values()) < 140, "100 expected, deviation 8.7"
