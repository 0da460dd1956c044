"""Laws of reading the XML of a Stack Exchange dump."""

import gzip
import tracemalloc
from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.inputs.tables import read_xml_rows

HEAD = b'<?xml version="1.0" encoding="utf-8"?>\n<posts>\n'
ROW = b'<row Id="1" Title="a" />\n'


def rows(file: Path, content: bytes) -> list[tuple[int, dict[str, str]]]:
    file.write_bytes(content)
    return [(row.line, dict(row.cells)) for row in read_xml_rows(file, "posts")]


def test_rows_come_with_their_lines_and_their_cells_unescaped(tmp_path: Path) -> None:
    text = b'<row Id="2" Body="&lt;b&gt; &amp;&#xA;]]&gt; ]]> \xc3\xa9" />\n</posts>\n'
    assert rows(tmp_path / "Posts.xml", b"\xef\xbb\xbf" + HEAD + ROW + text) == [
        (3, {"Id": "1", "Title": "a"}),
        (4, {"Id": "2", "Body": "<b> &\n]]> ]]> é"}),
    ]


def test_a_row_may_be_over_several_lines_and_several_rows_on_one(tmp_path: Path) -> None:
    found = rows(tmp_path / "Posts.xml", b'<posts><row\n Id="1"/><row Id="2"/></posts>')
    assert found == [(1, {"Id": "1"}), (2, {"Id": "2"})]


BOMB = b'<!DOCTYPE posts [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>\n'
OUTSIDE = b'<!DOCTYPE posts [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n'
HOSTILE = {
    "an entity bomb": (b"\n" + BOMB + b"<posts>&b;</posts>", 2, "a document type"),
    "an entity from outside": (OUTSIDE + b"<posts>&a;</posts>", 1, "a document type"),
    "an unknown entity": (HEAD + b'<row Title="&b;"/></posts>', 3, "undefined entity"),
    "no UTF-8": (HEAD + ROW + b'<row Title="\xe9t\xe9"/></posts>', 4, "not well-formed"),
    "another encoding": (b'<?xml version="1.0" encoding="latin1"?><posts/>', 1, "encoding latin1"),
    "an escaped control character": (HEAD + b'<row Title="&#x1F;"/></posts>', 3, "invalid char"),
    "a raw control character": (HEAD + ROW + b'<row Title="\x00"/></posts>', 4, "not well-formed"),
    "half a surrogate pair": (HEAD + b'<row Title="&#xD800;"/></posts>', 3, "invalid char"),
    "a cell twice": (HEAD + b'<row Id="1" Id="2"/></posts>', 3, "duplicate attribute"),
    "cut within a row": (HEAD + ROW + b'<row Id="2" Bo', 4, "cut short"),
    "cut between rows": (HEAD + ROW, 4, "cut short"),
    "an empty file": (b"", 1, "no element found"),
    "a second root": (HEAD + b"</posts>\n<posts/>", 4, "junk after document element"),
    "]]> in text": (HEAD + b"]]></posts>", 3, "not well-formed"),
    "another table": (b"<users><row/></users>", 1, "the element 'users'"),
    "other elements": (HEAD + b"<post/></posts>", 3, "the element 'post'"),
    "rows in rows": (HEAD + b"<row><row/></row></posts>", 3, "the element 'row'"),
    "no XML": (b"Id,Title\n1,a\n", 1, "syntax error"),
    "a 7z archive": (b"7z\xbc\xaf\x27\x1c\x00\x04", 1, "a 7z archive: unpack it"),
    "a gzip archive": (gzip.compress(HEAD), 1, "a gzip archive: unpack it"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_table_is_refused_with_its_line(tmp_path: Path, name: str) -> None:
    content, line, problem = HOSTILE[name]
    with pytest.raises(SourceError, match=rf"Posts\.xml:{line}: .*{problem}"):
        rows(tmp_path / "Posts.xml", content)


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


def test_a_missing_file_a_folder_and_an_outermost_element_of_no_rows(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.xml", tmp_path):
        with pytest.raises(SourceError, match="cannot be read"):
            list(read_xml_rows(path, "posts"))
    assert rows(tmp_path / "Posts.xml", b"<posts/>") == []
