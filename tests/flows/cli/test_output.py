"""Laws of the terminal: tables that never break a figure, and text that steers nothing."""

from unicodedata import east_asian_width

import pytest

from flows.cli.output import print_blocks, print_table, say, terminal_width
from tasks.reports.document import Code, Details, Items, KeyValues, Paragraph, Span


def test_a_file_or_a_pipe_has_no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.__stdout__", None)
    assert terminal_width() >= 10_000


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


def printed(capsys: pytest.CaptureFixture[str], rows: list[list[str]], width: int) -> list[str]:
    print_table("scores", HEADER, rows, rest="/a/page.html", note="letters: lower", width=width)
    return capsys.readouterr().out.splitlines()


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: East Asian characters take two."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_line_fits_and_every_figure_that_is_shown_is_whole(
    capsys: pytest.CaptureFixture[str], width: int
) -> None:
    lines = printed(capsys, ROWS, width)
    assert max(map(cells, lines)) <= width
    for row, line in zip(ROWS, lines[2:], strict=False):
        shown = [figure for figure in row[1:] if figure in line]
        assert shown, "the first column of figures is always there"
        assert shown == row[1 : 1 + len(shown)], "columns are left out from the right alone"
        assert sum(word.startswith("0.") for word in line.split()) == len(shown)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_columns_that_are_left_out_are_named_with_where_they_are(
    capsys: pytest.CaptureFixture[str], width: int
) -> None:
    lines = printed(capsys, ROWS, width)
    after = " ".join(lines[2 + len(ROWS) :])
    left_out = after.split("lack of width: ")[1].split(";")[0].split(", ")
    assert [*lines[1].split(), *left_out] == HEADER
    assert "/a/page.html" in after


def test_what_fits_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, [ROWS[0]], 10_000)
    assert lines[1].split() == HEADER
    assert lines[2].split() == [word for cell in ROWS[0] for word in cell.split()]
    assert "not shown" not in "".join(lines)


def test_long_names_are_shortened_in_the_middle_and_stay_different(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = printed(capsys, ROWS, 80)
    labels = [line.split("  ")[0] for line in lines[2:6]]
    assert len(set(labels)) == len(labels)
    assert labels[0] == "bm25"
    assert all("…" in label for label in labels[1:])
    assert labels[1].startswith("bag-of")
    assert labels[1].endswith("unixcoder")


@pytest.mark.parametrize("text", ["[red]x[/]", ":bug:", "a\nb", "\x1b[31mred", "\u202eevil"])
def test_a_name_is_shown_on_one_line_and_obeyed_by_nothing(
    capsys: pytest.CaptureFixture[str], text: str
) -> None:
    print_table("t", ["method", "MRR"], [[text, "0.1"]], rest="", width=80)
    _, _, line, *_ = capsys.readouterr().out.splitlines()
    assert line.endswith("  0.1")
    assert not {"\x1b", "\u202e"} & set(line)
    assert line.split()[0] == text.split(maxsplit=1)[0] or "⟨U+" in line


def test_a_table_without_rows_has_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, [], 80)[1].split()[0] == "method"


def test_blocks_of_a_report_are_printed_as_text_that_is_obeyed_by_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_blocks(
        [
            Paragraph(("a heading", Span("badge", "open")), "h4"),
            KeyValues({"Reason": "[bold]\x1b[2J"}),
            Items([("call", Span("gave", "no"))]),
            Code("def f():\n    return '[red]'\n"),
            "a remark",
            Details("more", ["on the page alone"]),
        ]
    )
    assert capsys.readouterr().out == (
        "\na heading badge\nReason: [bold]⟨U+001B⟩[2J\n  call gave\n"
        "def f():\n    return '[red]'\na remark\n"
    )
