"""Laws of Neural Code Search's published files, made small, and of hostile ones."""

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.corpus.neural_code_search import (
    CORPUS,
    LARGE,
    NO_FILE,
    NO_LINES,
    NO_REPOSITORY,
    REPOSITORIES,
    Method,
    MethodTexts,
    Repository,
    corpus_archives,
    read_methods,
    read_questions,
    read_repositories,
    write_corpus,
)

LISTED = Repository("owner/app", "app-0f1e", "https://github.com/owner/app/blob/0f1e")
ROW: dict[str, object] = {
    "id": 7, "filepath": "owner/app/src/A.java", "method_name": "f", "start_line": 2,
    "end_line": 3, "url": "https://github.com/owner/app/blob/0f1e/src/A.java#L2-L3",
}  # fmt: skip
CLASS = "class A {\r\n  int f() {\r    return 1; }\n  void g() {\n  }\n}\n"


def archived(folder: Path, members: Mapping[str, bytes | str]) -> Path:
    """Write an archive; a member whose content is text is a link to it."""
    with tarfile.open(folder / CORPUS, "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return folder / CORPUS


def line(**changed: object) -> bytes:
    return json.dumps({**ROW, **changed}).encode() + b"\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    file = tmp_path / "repositories" / "app-0f1e" / "src" / "A.java"
    file.parent.mkdir(parents=True)
    file.write_bytes(CLASS.encode())
    return tmp_path / "repositories"


def test_members_are_read_whatever_their_names_and_nothing_is_unpacked(tmp_path: Path) -> None:
    content: dict[str, bytes | str] = {
        "../../out.jsonl": line(), "/etc/passwd": line(id=8), "link.jsonl": "/etc/passwd",
        "._a.jsonl": b"\0", "b.jsonl": line(id="9"),
    }  # fmt: skip
    archive = archived(tmp_path, content)
    assert [method.id for _, method in read_methods(archive)] == [7, 8, 9]
    assert [place.rpartition(":")[2] for place, _ in read_methods(archive)] == ["1", "1", "1"]
    assert [path.name for path in tmp_path.rglob("*")] == [CORPUS]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (b"{]\n", r"c.jsonl:2: .*JSON"),
        (b"[]\n", r"c.jsonl:2: .*keys are id, filepath"),
        (line(start_line=0), r"c.jsonl:2: start_line: .*greater than or equal to 1"),
        (line(end_line=1), r"c.jsonl:2: .*end_line is before start_line"),
        (line(filepath="owner/app/../../x"), r"c.jsonl:2: filepath"),
        (line(filepath="/etc/passwd"), r"c.jsonl:2: filepath"),
        (b'{"id": 1, "id": 2}\n', r"c.jsonl:2: .*twice"),
        (b'{"id": "\xff"}\n', r"c.jsonl:2: byte 0xff is not UTF-8"),
        (b"x" * (1 << 20), r"c.jsonl:2: a line of more than 1,048,576 bytes"),
        (b"[" * 100_000 + b"\n", r"c.jsonl:2: "),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, second: bytes, message: str) -> None:
    archive = archived(tmp_path, {"c.jsonl": line() + second})
    with pytest.raises(SourceError, match=message):
        list(read_methods(archive))


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    archive = archived(tmp_path, {"c.jsonl": b"".join(line(id=n) for n in range(5_000))})
    archive.write_bytes(archive.read_bytes()[:-2_000])
    with pytest.raises(SourceError, match=rf"{CORPUS} cannot be read .*copy it again"):
        list(read_methods(archive))
    archive.write_text("no archive")
    with pytest.raises(SourceError, match="copy it again"):
        list(read_methods(archive))
    archive.unlink()
    with pytest.raises(SourceError, match=r"holds no search_corpus_\*"):
        corpus_archives(tmp_path)


def test_repositories_are_listed_by_their_archives(tmp_path: Path) -> None:
    file = tmp_path / REPOSITORIES
    file.write_text("https://github.com/owner/app/archive/0f1e.zip\n\n")
    assert read_repositories(file) == [LISTED]
    file.write_text("\nhttps://example.org/owner/app/archive/0f1e.zip\n")
    with pytest.raises(SourceError, match=rf"{REPOSITORIES}:2: .*no address such as"):
        read_repositories(file)


def test_questions_keep_all_eleven_fields_and_one_without_words_is_refused(tmp_path: Path) -> None:
    whole = {
        "stackoverflow_id": 11, "question": "Hide", "question_url": "q", "question_author": "a",
        "question_author_url": "b", "answer": "x", "answer_url": "c", "answer_author": "d",
        "answer_author_url": "e", "examples": ["1", 2], "examples_url": ["f", "g"],
    }  # fmt: skip
    file = tmp_path / "questions.json"
    file.write_text(json.dumps([whole]))
    [question] = read_questions(file)
    kept = {**whole, "stackoverflow_id": "11", "examples": (1, 2), "examples_url": ("f", "g")}
    assert question.model_dump() == kept
    file.write_text(json.dumps([whole, {**whole, "question": " "}]))
    with pytest.raises(SourceError, match="item 2: question"):
        read_questions(file)


@pytest.mark.parametrize(
    ("changed", "text", "problem"),
    [
        ({}, "int f() {\n  return 1; }", ""),
        ({"start_line": 4, "end_line": 5}, "void g() {\n}", ""),
        ({"end_line": 10**9}, "", NO_LINES),
        ({"start_line": 8, "end_line": 8}, "", NO_LINES),
        ({"start_line": 7, "end_line": 7}, "", NO_LINES),
        ({"filepath": "owner/app/src/B.java"}, "", NO_FILE),
        ({"filepath": "owner/app"}, "", NO_FILE),
        ({"filepath": "owner/other/src/A.java"}, "", NO_REPOSITORY),
        ({"filepath": "app-0f1e/src/A.java"}, "int f() {\n  return 1; }", ""),
    ],
)
def test_methods_are_cut_by_their_lines(
    root: Path, changed: dict[str, object], text: str, problem: str
) -> None:
    found = MethodTexts(root, [LISTED]).cut(Method.model_validate({**ROW, **changed}))
    assert (found.text, found.problem) == (text, problem)


def test_a_long_file_is_cut_and_a_huge_one_counted(root: Path) -> None:
    file = root / "app-0f1e" / "src" / "A.java"
    file.write_text("\n" * 999_999 + "int last;")
    method = Method.model_validate({**ROW, "start_line": 10**6, "end_line": 10**6})
    assert MethodTexts(root, [LISTED]).cut(method).text == "int last;"
    with file.open("r+") as opened:
        opened.truncate((1 << 26) + 1)
    assert MethodTexts(root, [LISTED]).cut(method).problem == LARGE


def test_a_link_that_leads_out_of_the_repositories_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "A.java").write_text("secret")
    (root / "app-0f1e" / "src" / "B.java").symlink_to(tmp_path / "A.java")
    method = Method.model_validate({**ROW, "filepath": "owner/app/src/B.java"})
    with pytest.raises(SourceError, match=r"B\.java leads outside"):
        MethodTexts(root, [LISTED]).cut(method)


def test_a_corpus_is_written_as_it_is_read(root: Path, tmp_path: Path) -> None:
    (root / "loose").mkdir()
    (root / "loose" / "C.java").write_text("class C { int h() { return 2; }\n}")
    data = tmp_path / "data"
    data.mkdir()
    (data / REPOSITORIES).write_text("https://github.com/owner/app/archive/0f1e.zip\n")
    assert write_corpus(root, data) == {"methods": 3}
    first, second, third = (method for _, method in read_methods(data / CORPUS))
    assert first.model_dump() == {**ROW, "id": 1}
    assert (second.method_name, second.start_line, second.end_line) == ("g", 4, 5)
    assert (third.filepath, third.url) == ("loose/C.java", "loose/C.java#L1-L1")
    texts = MethodTexts(root, [LISTED])
    assert texts.cut(third).text == "class C { int h() { return 2; }"
    assert sorted(path.name for path in data.iterdir()) == sorted([REPOSITORIES, CORPUS])


def test_a_corpus_has_the_same_bytes_whenever_it_is_written(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    for now in (1_000_000_000, 2_000_000_000):
        monkeypatch.setattr("time.time", lambda now=now: now)
        data = tmp_path / str(now)
        data.mkdir()
        write_corpus(root, data)
        written.append((data / CORPUS).read_bytes())
        with tarfile.open(data / CORPUS) as archive:
            [member] = archive.getmembers()
        assert (member.mtime, member.uid, member.uname) == (0, 0, "")
    assert written[0] == written[1]
