"""Laws of the terminal: tables that never break a figure, and text that steers nothing.

Covers `tasks.reports.terminal`.
"""

from collections.abc import Callable, Sequence
from unicodedata import east_asian_width

import pytest

from flows.cli.output import print_document, say, terminal_width
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
    Text,
)


def test_a_file_or_a_pipe_has_no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.__stdout__", None)
    assert terminal_width() is None


def test_columns_that_are_asked_for_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    assert terminal_width() == 72


@pytest.mark.parametrize("text", ["[red]x[/]", ":bug: [link=a]b[/link]", "a" * 500])
def test_text_is_printed_as_it_is(capsys: pytest.CaptureFixture[str], text: str) -> None:
    say(text)
    assert capsys.readouterr().out == f"{text}\n"


@pytest.mark.parametrize("sign", ["\x1b[2J", "\u202e", "\u200b", "\x9b31m", "\x07"])
def test_characters_that_could_fake_text_are_shown_as_their_numbers(
    capsys: pytest.CaptureFixture[str], sign: str
) -> None:
    say(f"before{sign}after")
    out = capsys.readouterr().out
    assert f"U+{ord(sign[0]):04X}" in out
    assert sign[0] not in out


HEADER = [
    "method", "NDCG(gain=linear)@10", "MRR", "MAP", "MMRR", "Recall@10", "Answered@5", "judged@10",
]  # fmt: skip
NAMES = [
    "bm25",
    "bag-of-words+tf-idf+bm25+all-MiniLM-L6-v2+unixcoder",
    "bag-of-words+tf-idf+bm25+all-MiniLM-L6-v2+codebert",
    "検索方法の名前がとても長い場合にも表は端末の幅に収まらなければならない",
]
ROWS = [
    [name, *(f"0.{place}{column}{place + column} abcdefg" for column in range(1, 7)), "0.500"]
    for place, name in enumerate(NAMES)
]


@pytest.fixture
def printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[str]]:
    """What prints a document of blocks on a terminal of a width, and returns the lines."""

    def lines(width: int, *blocks: Block, page: str = "/a/page.html") -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        print_document(Document("", blocks, kind="Study"), page)
        return capsys.readouterr().out.splitlines()

    return lines


Printed = Callable[..., list[str]]


def scores(rows: Sequence[Sequence[Text]] = ROWS) -> Table:
    return Table(HEADER, rows, caption="scores")


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: East Asian characters take two."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_line_fits_and_every_figure_that_is_shown_is_whole(
    printed: Printed, width: int
) -> None:
    lines = printed(width, scores())
    assert max(map(cells, lines)) <= width
    for row, line in zip(ROWS, lines[2:], strict=False):
        shown = [figure for figure in row[1:] if figure in line]
        assert shown, "the first column of figures is always there"
        assert shown == row[1 : 1 + len(shown)], "columns are left out from the right alone"
        assert sum(word.startswith("0.") for word in line.split()) == len(shown)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_columns_that_are_left_out_are_named_with_where_they_are(
    printed: Printed, width: int
) -> None:
    lines = printed(width, scores())
    after = " ".join(lines[2 + len(ROWS) :])
    left_out = after.split("lack of width: ")[1].split(";")[0].split(", ")
    assert [*lines[1].split(), *left_out] == HEADER
    assert "/a/page.html" in after


def test_what_fits_is_shown_as_it_is(printed: Printed) -> None:
    lines = printed(10_000, scores([ROWS[0]]))
    assert lines[1].split() == HEADER
    assert lines[2].split() == [word for cell in ROWS[0] for word in cell.split()]
    assert "not shown" not in "".join(lines)


def test_long_names_are_shortened_in_the_middle_and_stay_different(printed: Printed) -> None:
    lines = printed(80, scores())
    labels = [line.split("  ")[0] for line in lines[2:6]]
    assert len(set(labels)) == len(labels)
    assert labels[0] == "bm25"
    assert all("…" in label for label in labels[1:])
    assert labels[1].startswith("bag-of")
    assert labels[1].endswith("unixcoder")


@pytest.mark.parametrize("text", ["[red]x[/]", ":bug:", "a\nb", "\x1b[31mred", "\u202eevil"])
def test_a_name_is_shown_on_one_line_and_obeyed_by_nothing(printed: Printed, text: str) -> None:
    _, line, *_ = printed(80, Table(["method", "MRR"], [[text, "0.1"]]))
    assert line.endswith("  0.1")
    assert not {"\x1b", "\u202e"} & set(line)
    assert line.split()[0] == text.split(maxsplit=1)[0] or "⟨U+" in line


def test_a_table_without_rows_says_so(printed: Printed) -> None:
    assert printed(80, Table(HEADER, [], caption="scores", empty="No method."))[:2] == [
        "scores", "No method.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("width", "line", "told"),
    [
        (60, "a  bm25    0.51 [0.4, 0.6] bc  0.62 [0.5, 0.7]", ""),
        (40, "a  bm25    0.51 bc  0.62", "not shown, for lack of width: small print; all"),
        (20, "a  bm25    0.51 bc", "not shown, for lack of width: small print, MAP"),
    ],
)
def test_small_print_gives_way_before_columns_do(
    printed: Printed, width: int, line: str, told: str
) -> None:
    first = ("0.51", Span("[0.4, 0.6]", "note"), Span("bc", "soft"))
    row = ("a", "bm25", first, ("0.62", Span("[0.5, 0.7]", "note")))
    lines = printed(width, Table(("", "method", "MRR", "MAP"), [row], text_columns=2))
    assert lines[1].split() == line.split()
    assert told in " ".join(lines)
    assert bool(told) == ("not shown" in " ".join(lines))


LONG = [Table(["query", "n"], [[f"q{n}", "1"] for n in range(100)]),
        Items([f"item {n}" for n in range(100)])]  # fmt: skip


def test_a_terminal_shows_the_first_of_long_tables_lists_and_sections_and_says_how_many_more(
    printed: Printed,
) -> None:
    lines = printed(80, *LONG)
    assert lines.count("… and 60 more on the page") == 2
    assert "q39       1" in lines
    assert not any("q40" in line or "item 40" in line for line in lines)
    many = printed(80, *(f"remark {n}" for n in range(20)))
    assert many[14:] == ["remark 14", "… and 5 more on the page", "study: /a/page.html"]


@pytest.mark.parametrize(("width", "page"), [(0, "/a/page.html"), (80, "")])
def test_a_pipe_takes_a_document_whole_and_so_does_a_terminal_that_has_no_page_of_it(
    printed: Printed, width: int, page: str
) -> None:
    lines = printed(width, *LONG, page=page)
    assert "  item 99" in lines
    assert any(line.startswith("q99 ") for line in lines)
    assert not any("more" in line for line in lines)


def test_sections_that_are_not_printed_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    sections = [Section(name, name.title(), [f"of {name}"]) for name in ("scores", "speed", "pool")]
    document = Document("T", ["lead"], [*sections, Section("none", "None", [])], kind="Board")
    print_document(document, "/p.html", parts=("scores",))
    assert capsys.readouterr().out == (
        "T\nlead\n\nScores\nof scores\nmore on the page: Speed, Pool\nboard: /p.html\n"
    )


def test_blocks_of_a_report_are_printed_as_text_that_is_obeyed_by_nothing(printed: Printed) -> None:
    lines = printed(
        10_000,
        Paragraph(("a heading", Span("badge", "open")), "h4"),
        KeyValues({"Reason": "[bold]\x1b[2J"}),
        Items([("call", Span("gave", "no"))]),
        Code("def f():\n    return '[red]'\n"),
        "a remark",
        Details("more", ["on the page alone"]),
        page="",
    )
    assert lines == [
        "", "a heading badge", "Reason: [bold]⟨U+001B⟩[2J", "  call gave", "def f():",
        "    return '[red]'", "a remark",
    ]  # fmt: skip
