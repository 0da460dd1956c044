"""Laws of documents: every block is whole on the page and in Markdown, and no text is obeyed.

Covers `tasks.reports.render`.
"""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import tasks
from tasks.reports.document import (
    Block,
    Code,
    Details,
    Document,
    Items,
    KeyValues,
    Paragraph,
    Section,
    Span,
    Table,
    plain_text,
)
from tasks.reports.render import html_page, markdown_page
from tests.tasks.reports.cases import REPORTS

HOSTILE = [
    "</p></td></section><script>alert(1)</script>",
    "</pre></details><iframe src=javascript:alert(1)>",
    "</style><style>*{display:none}",
    '" onmouseover="alert(1)" x=\'',
    "def f():\n    '''</pre><script>alert(1)</script>'''",
    "<!-- ",
    "]]>&lt;b&gt;",
    '"><img src=x onerror=alert(1)>',
    "| a | `b` ** [c](javascript:d) <e>",
    "# heading\n\n- list\n1. numbers",
    "{{ 7 * 7 }}{% include 'page.css' %}",
    "\x00\x1b[31m\u202e",
    "```\n~~~",
]
README = Path(tasks.__file__).with_name("README.md")
_VOID = {"meta", "br", "wbr"}
_MARKDOWN = MarkdownIt("gfm-like", {"linkify": False})


def document(text: str) -> Document:
    """Return a document with every block, each of which says a text."""
    spans = (text, Span(text), Span(text, "yes"), Span(text, "note"), Span(text, href=text))
    blocks: list[Block] = [
        text,
        Paragraph(spans),
        Paragraph(text, "h3"),
        Items([text, spans]),
        Table((text, "b"), [(text, spans), (spans, text)], caption=text),
        Table((text,), [], empty=text),
        KeyValues({"name": text}),
        KeyValues({"name": text}, large=True),
        Code(text),
        Code(text, "error"),
        Details(text, [text]),
    ]
    return Document(title=text, lead=blocks, sections=[Section("one", text, blocks)], kind=text)


class _Tags(HTMLParser):
    """Tags with the names of their attributes; checks the nesting."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("wbr", "a", "span"):  # breaks in names, unsafe links, colours of code
            self.found.append((tag, tuple(name for name, _ in attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self._open.pop() == tag


@pytest.mark.parametrize("text", HOSTILE)
def test_text_never_changes_the_structure_of_a_page(text: str) -> None:
    assert _Tags(html_page(document(text))).found == _Tags(html_page(document("plain"))).found


def _types(of: Document) -> list[str]:
    found = []
    for token in _MARKDOWN.parse(markdown_page(of)):
        inner = [child.type for child in token.children or []]
        found += [token.type, *(kind for kind in inner if not kind.startswith("text"))]
    return found


@pytest.mark.parametrize("text", HOSTILE)
def test_text_never_changes_the_structure_of_markdown(text: str) -> None:
    assert _types(document(text)) == _types(document("plain"))


@pytest.mark.parametrize("name", REPORTS)
def test_no_report_obeys_or_hides_what_comes_from_outside(name: str) -> None:
    plain = REPORTS[name]("plain")
    for text in (f"{HOSTILE[0]}{HOSTILE[2]}{HOSTILE[7]} | a", "a\x1b[31m\u202egnp"):
        report = REPORTS[name](text)
        page, markdown = html_page(report), markdown_page(report)
        assert _Tags(page).found == _Tags(html_page(plain)).found
        if name != "pair":  # which is shown as HTML alone
            assert _types(report) == _types(plain)
            assert not re.search("[\x1b\u202e]|<(script|img|iframe)", markdown)
        assert not re.search("[\x1b\u202e]|<(script|img|iframe)", page)
        assert ("a⟨U+001B⟩" in page) == ("\x1b" in text)


@pytest.mark.parametrize(
    ("address", "on_the_page", "in_markdown"),
    [
        ("https://example.org/run/1", 1, 1),
        ("folder/report.html", 1, 0),
        ("javascript:alert(1)", 0, 0),
        ("https://example.org/>)<script>", 1, 0),
        ("http://[", 0, 1),
    ],
)
def test_only_addresses_that_lead_somewhere_become_links(
    address: str, on_the_page: int, in_markdown: int
) -> None:
    linked = Document(title="t", lead=[Items([Span("there", href=address)])])
    assert html_page(linked).count("<a href=") == on_the_page + 1, "with that to the words"
    rendered = _MARKDOWN.render(markdown_page(linked))
    assert rendered.count("<a href=") == in_markdown
    assert "<script>" not in rendered


def test_tables_are_whole_and_in_order_however_many_rows_they_have() -> None:
    rows = [(f"row {number}", f"{number:,}") for number in range(3_000)]
    one = Document(title="t", sections=[Section("s", "Rows", [Table(("name", "n"), rows)])])
    page, text = html_page(one), markdown_page(one)
    assert re.findall(r"<td>(row \d+)</td>", page) == [name for name, _ in rows]
    assert re.findall(r"\| (row \d+) \|", text) == [name for name, _ in rows]
    assert len(page) < 100 * len(rows)


def test_text_is_cut_where_it_is_long_and_hidden_characters_show() -> None:
    flood = document("x" * 200_000)
    assert len(html_page(flood)) < 400_000
    assert len(markdown_page(flood)) < 200_000
    hidden = document("a\u202eb")
    assert "\u202e" not in html_page(hidden) + markdown_page(hidden)


def test_markdown_has_neither_details_nor_sections_of_nothing_else() -> None:
    sections = [Section("a", "A", [Details("more", ["inside"])]), Section("b", "B", ["c"])]
    assert markdown_page(Document(title="t", sections=sections)) == "# t\n\n## B\n\nc\n"


def test_a_page_has_no_scripts_and_fetches_nothing() -> None:
    page = html_page(document("plain"))
    tags = {tag for tag, _ in _Tags(page).found}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
    assert not [mark for mark in ("src=", "url(", "@import", "://") if mark in page]
    assert "default-src 'none'" in page


def test_every_section_is_in_the_contents() -> None:
    page = html_page(document("plain"))
    assert re.findall(r'href="#(\w+)"', page) == re.findall(r'<section id="(\w+)"', page)
    assert re.findall(r'<section id="(\w+)"', page) == ["one", "words"]


def test_the_words_of_pages_are_those_of_the_readme() -> None:
    page = html_page(document("plain"))
    shown = re.findall(r"<div><dt>(.*)</dt><dd>(.*)</dd></div>", page.split('id="words"')[1])
    rows = re.findall(r"^\| (.+) \| (.+) \|$", README.read_text("utf-8"), re.MULTILINE)
    plain = [tuple(re.sub(r"</?\w+>|[`*“”\"']", "", each) for each in row) for row in shown]
    told = [tuple(re.sub(r"[`*\"']", "", each) for each in row) for row in rows]
    first = told.index(("word", "meaning")) + 2
    assert plain == told[first : first + len(plain)]
    assert {"by running", "by reading", "arbiter against the run", "settings"} <= {
        word for word, _ in plain
    }


def test_code_keeps_its_lines_and_cannot_end_its_block() -> None:
    source = "def f():\n\treturn '```'\n\n"
    one = Document(title="t", lead=[Code(source)])
    shown = html_page(one).split('tabindex="0">')[1].split("</pre>")[0]
    assert re.sub(r"<[^>]+>", "", shown).replace("&#39;", "'") == source
    assert f"````python\n{source}\n````" in markdown_page(one)


def test_spans_are_separated_by_a_space() -> None:
    assert plain_text(("a", Span("b", "code"), "c")) == "a b c"
    one = Document(title="", lead=[Paragraph(("a", Span("b", "code"), Span("c")))])
    assert markdown_page(one) == "a `b` **c**\n"
    assert '<p class="">a <code class="code">b</code> <b class="strong">c</b></p>' in html_page(one)
