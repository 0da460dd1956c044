"""Laws of tables by rows: CSV, and the XML of a Stack Exchange dump."""

import gzip
import tracemalloc
from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.inputs.tables import read_header, read_rows, read_xml_rows, whole_number

HEAD = b'<?xml version="1.0" encoding="utf-8"?>\n<posts>\n'
ROW = b'<row Id="1" Title="a" />\n'


def xml_rows(file: Path, content: bytes) -> list[tuple[int, dict[str, str]]]:
    file.write_bytes(content)
    return [(row.line, dict(row.cells)) for row in read_xml_rows(file, "posts")]


def test_rows_come_with_their_lines_and_their_cells_unescaped(tmp_path: Path) -> None:
    text = b'<row Id="2" Body="&lt;b&gt; &amp;&#xA;]]&gt; ]]> \xc3\xa9" />\n</posts>\n'
    assert xml_rows(tmp_path / "Posts.xml", b"\xef\xbb\xbf" + HEAD + ROW + text) == [
        (3, {"Id": "1", "Title": "a"}),
        (4, {"Id": "2", "Body": "<b> &\n]]> ]]> é"}),
    ]


def test_a_row_may_be_over_several_lines_and_several_rows_or_none_on_one(tmp_path: Path) -> None:
    found = xml_rows(tmp_path / "Posts.xml", b'<posts><row\n Id="1"/><row Id="2"/></posts>')
    assert found == [(1, {"Id": "1"}), (2, {"Id": "2"})]
    assert xml_rows(tmp_path / "Posts.xml", b"<posts/>") == []


BOMB = b'<!DOCTYPE posts [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>\n'
OUTSIDE = b'<!DOCTYPE posts [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n'
HOSTILE = {
    "an entity bomb": (b"\n" + BOMB + b"<posts>&b;</posts>", 2, "a document type"),
    "an entity from outside": (OUTSIDE + b"<posts>&a;</posts>", 1, "a document type"),
    "an unknown entity": (HEAD + b'<row Title="&b;"/></posts>', 3, "undefined entity"),
    "no UTF-8": (HEAD + ROW + b'<row Title="\xe9t\xe9"/></posts>', 4, "not well-formed"),
    "another encoding": (b'<?xml version="1.0" encoding="latin1"?><posts/>', 1, "iconv -f latin1 "),
    "an escaped control character": (HEAD + b'<row Title="&#x1F;"/></posts>', 3, "invalid char"),
    "a raw control character": (HEAD + ROW + b'<row Title="\x00"/></posts>', 4, "not well-formed"),
    "half a surrogate pair": (HEAD + b'<row Title="&#xD800;"/></posts>', 3, "invalid char"),
    "a cell twice": (HEAD + b'<row Id="1" Id="2"/></posts>', 3, "duplicate attribute"),
    "cut within a row": (HEAD + ROW + b'<row Id="2" Bo', 4, "cut short"),
    "cut between xml_rows": (HEAD + ROW, 4, "cut short"),
    "an empty file": (b"", 1, "no element found"),
    "a second root": (HEAD + b"</posts>\n<posts/>", 4, "junk after document element"),
    "]]> in text": (HEAD + b"]]></posts>", 3, "not well-formed"),
    "another table": (b"<users><row/></users>", 1, "the element 'users'"),
    "other elements": (HEAD + b"<post/></posts>", 3, "the element 'post'"),
    "rows in xml_rows": (HEAD + b"<row><row/></row></posts>", 3, "the element 'row'"),
    "no XML": (b"Id,Title\n1,a\n", 1, "syntax error"),
    "a 7z archive": (b"7z\xbc\xaf\x27\x1c\x00\x04", 1, "a 7z archive: unpack it"),
    "a gzip archive": (gzip.compress(HEAD), 1, "a gzip archive: unpack it"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_table_is_refused_with_its_line(tmp_path: Path, name: str) -> None:
    content, line, problem = HOSTILE[name]
    with pytest.raises(SourceError, match=rf"Posts\.xml:{line}: .*{problem}"):
        xml_rows(tmp_path / "Posts.xml", content)


BLANK = (b"", b'<row Id="1" />\n<row a="1" ')


@pytest.mark.parametrize("start", [b'<row Body="', b"<!-- ", *BLANK])
def test_a_line_of_100_mb_is_refused_in_bounded_memory(tmp_path: Path, start: bytes) -> None:
    file = tmp_path / "Posts.xml"
    with file.open("wb") as stream:
        stream.write(HEAD + start)
        for _ in range(100):
            stream.write((b" " if start in BLANK else b"x") * (1 << 20))
    tracemalloc.start()
    with pytest.raises(SourceError, match=r"Posts\.xml:[34]: more than 8,388,608 bytes"):
        list(read_xml_rows(file, "posts"))
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


def test_rows_come_with_their_first_line_and_quoted_line_ends(file: Path) -> None:
    file.write_text('a, b\n1,"x\ny"\n\n 2 ,z\n')
    assert [(row.place, dict(row.cells)) for row in read_rows(file, ["a", "b"])] == [
        (f"{file}:2", {"a": "1", "b": "x\ny"}),
        (f"{file}:5", {"a": "2", "b": "z"}),
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a" * 200_000, r"rows.csv:1: field larger than field limit"),
        ("a,b\n1," + "2" * 200_000, r"rows.csv:2: field larger than field limit"),
        ('"a', r"rows.csv:1: unexpected end of data"),
        ("", r"rows.csv: the file is empty: its header must be a,b"),
        ("\n\n", r"rows.csv: the file is empty: its header must be a,b"),
    ],
)
def test_a_malformed_file_is_an_error_with_its_line(file: Path, content: str, problem: str) -> None:
    file.write_text(content)
    with pytest.raises(SourceError, match=problem):
        list(read_rows(file, ["a", "b"]))


def test_a_header_alone_is_read(file: Path) -> None:
    file.write_text(" a ,b\n")
    assert read_header(file) == ["a", "b"]
    assert list(read_rows(file, ["a", "b"])) == []


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("0", 0), ("3", 3), ("50", 50), ("007", 7), ("000", 0),
        ("51", None), ("", None), ("-1", None), ("1.0", None), ("\u0663", None),
        ("9" * 5_000, None),
    ],
)  # fmt: skip
def test_a_whole_number_lies_between_its_bounds(cell: str, number: int | None) -> None:
    assert whole_number(cell, 0, 50) == number


@pytest.mark.parametrize(
    "text",
    ["a,b,,\n1,2,,\n", "a,,b\n1,,2\n", "a,b\n1,2,,,\n", ";;a;b;\n;;1;2; ;\n",
     "\n\na\tb\t\n1\t2\t\n"],
)  # fmt: skip
def test_columns_without_a_name_or_a_cell_are_passed_over(file: Path, text: str) -> None:
    file.write_text(text)
    assert [dict(row.cells) for row in read_rows(file, ["a", "b"])] == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize("text", ["a,b,,\n1,2,,3\n", "a,,b\n1,x,2\n", "a,b\n1,2,,x\n", "a,b,\n1\n"])
def test_a_cell_without_a_column_is_told_with_its_line(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(SourceError, match=r"rows.csv:2: \d cells where the header has 2 columns"):
        list(read_rows(file, ["a", "b"]))


def test_rows_of_empty_cells_are_no_rows_wherever_they_stand(file: Path) -> None:
    file.write_text('\n , \na,b\n,\n1,2\n\t\n" ",,,,\n3,4\n,\n')
    found = [(row.place, *row.cells.values()) for row in read_rows(file, ["a", "b"])]
    assert found == [(f"{file}:5", "1", "2"), (f"{file}:8", "3", "4")]
    file.write_text("\n\na,c\n1,2\n")
    with pytest.raises(SourceError, match=r"rows.csv:3: the header lacks b; has 'c'"):
        list(read_rows(file, ["a", "b"]))
