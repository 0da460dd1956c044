"""Laws of the registry of formats: each is found by what it has, and read by all that takes it.

Covers `pair_files`.
"""

import gzip
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from infra.errors import SourceError
from tasks.benchmarks import write_benchmark
from tasks.inputs.formats import (
    Format,
    PairSplit,
    all_formats,
    at,
    benchmark_at,
    benchmark_signs,
    find_split,
    formats,
    read,
    read_pairs,
    read_query_texts,
    split_path,
)
from tasks.inputs.formats.beir import Beir
from tasks.inputs.formats.export import Export
from tasks.inputs.formats.pair_files import NO_DOCUMENTATION, NOT_RELEVANT, PairFiles
from tasks.inputs.pairs import EMPTY_PAIR, NO_MATCH, Pairs
from tests.fakes.benchmarks import people_benchmark

LINE = json.dumps({"docstring_tokens": ["sort", "a", "list"], "code_tokens": ["def", "f"]}) + "\n"


def published(folder: Path) -> None:
    (folder / "train").mkdir()
    with gzip.open(folder / "train" / "python_train_0.jsonl.gz", "wt") as file:
        file.write(LINE)


def beir(folder: Path) -> None:
    (folder / "qrels").mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "c", "text": "def f", "title": ""}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "sort a list"}\n')
    (folder / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq\tc\t1\n")


@pytest.mark.parametrize(
    "make",
    [
        published,
        beir,
        lambda folder: (folder / "train.jsonl").write_text(LINE),
        lambda folder: (folder / "train.json").write_text(
            '[{"doc": "sort a list", "code": "def f"}]'
        ),
    ],
)
def test_each_form_is_found_and_read(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path)
    pairs = read_pairs(split_path(tmp_path, "train"))
    assert (pairs.queries, pairs.codes) == (("sort a list",), ("def f",))


def test_what_is_missing_or_there_twice_is_said_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"absent: there is no such folder of train and test"):
        split_path(tmp_path / "absent", "train")
    with pytest.raises(SourceError, match=r"has no test pairs: put them into a folder test or a"):
        split_path(tmp_path, "test")
    assert find_split(tmp_path, "valid") is None
    published(tmp_path)
    (tmp_path / "train.jsonl").write_text(LINE)
    with pytest.raises(SourceError, match=r"has train and train\.jsonl: move all but one away"):
        split_path(tmp_path, "train")


def test_the_format_of_a_path_is_told_by_what_it_has(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    assert [type(at(tmp_path / name)) for name in ("b", "b/beir", "absent")] == [
        Export, Beir, PairFiles,
    ]  # fmt: skip
    assert benchmark_at(tmp_path) is None
    assert benchmark_signs() == [
        "an export's manifest.json", "BEIR's corpus.jsonl",
        "an mteb task's corpus/, queries/ and qrels/",
    ]  # fmt: skip
    assert all(each.__doc__ for each in all_formats())


def test_an_export_and_its_beir_folder_stream_the_same_texts_and_grades(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    found = [benchmark_at(tmp_path / name) for name in ("b", "b/beir")]
    own, beir = [
        (
            {code.code_id: code.text for code in each.codes()},
            {query.query_id: query.text for query in each.queries()},
            sorted(zip(each.qrels().rows, each.qrels().relevance, strict=True)),
        )
        for each in found
        if each
    ]
    assert own == beir


class TabSeparated(Format):
    @classmethod
    def at(cls, path: Path, usual: str) -> Self | None:
        return cls(path) if path.suffix == ".tabs" else None

    @classmethod
    def places(cls, folder: Path, split: PairSplit) -> list[Path]:
        return [folder / f"{split}.tabs"]

    def pairs(self) -> Pairs:
        lines = (line.split("\t") for line in self.path.read_text().splitlines())
        return Pairs.of(self.name, ((query, code) for query, code in lines), Counter())


def test_a_further_format_is_one_file_and_all_that_reads_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(formats._entries, "tab-separated", TabSeparated)
    (tmp_path / "train.tabs").write_text("sort\tdef f(): pass\nadd\tdef g(): pass\n")
    train = split_path(tmp_path, "train")
    assert read_pairs(train).queries == read_query_texts(train).texts == ("sort", "add")
    assert len(read(train).labels) == 2
    assert benchmark_at(train) is None
    assert "tab-separated" in formats.names()


def test_pairs_are_read_as_a_benchmark_over_their_own_code(tmp_path: Path) -> None:
    rows = [{"query": "sort", "code": f"def f{n}(): pass", "label": n} for n in (0, 1, 1)]
    (tmp_path / "p.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = read(tmp_path / "p.jsonl")
    assert (found.name, len(found.queries), len(found.codes), len(found.labels)) == ("p", 1, 1, 1)


PAIR: dict[str, Any] = {"query": "sort  a list", "code": "def f(x):\n    return sorted(x)\n"}
DOCUMENTED: dict[str, Any] = {
    "repo": "owner/name", "language": "python", "func_name": "f",
    "code": 'def f(x):\n    """Sort a list.\n\n    In place."""\n    x.sort()',
    "code_tokens": ["def", "f", "(", "x", ")", ":", "x", ".", "sort", "(", ")"],
    "docstring": "Sort a list.\n\nIn place.", "docstring_tokens": ["Sort", "a", "list", "."],
}  # fmt: skip


def write(file: Path, *items: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(f"{json.dumps(item)}\n" for item in items).encode()
    file.write_bytes(gzip.compress(content) if file.suffix == ".gz" else content)
    return file


def test_an_export_and_its_beir_folder_give_the_same_pairs(tmp_path: Path) -> None:
    benchmark = people_benchmark()
    write_benchmark(benchmark, tmp_path / "b")
    queries, codes = benchmark.queries, benchmark.codes
    found = read_pairs(tmp_path / "b")
    assert dict(zip(found.queries, found.codes, strict=True)) == {
        queries[0].text: codes[2].text,
        queries[1].text: codes[0].text,
    }
    assert (found.name, found.left_out) == ("toy-people", {NO_MATCH: 1})
    beir = read_pairs(tmp_path / "b" / "beir")
    assert sorted(zip(beir.queries, beir.codes, strict=True)) == sorted(
        zip(found.queries, found.codes, strict=True)
    )


def test_a_beir_folder_of_several_splits_is_named_by_one(tmp_path: Path) -> None:
    write(tmp_path / "corpus.jsonl", {"_id": "d", "text": "code"}, {"_id": "e", "text": " "})
    write(tmp_path / "queries.jsonl", {"_id": "1", "text": "one"}, {"_id": "2", "text": "two"})
    for split, rows in (("test", "1\td\t1\n"), ("train", "2\td\t1\n1\te\t1\n")):
        file = tmp_path / "qrels" / f"{split}.tsv"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    with pytest.raises(SourceError, match=r"has 2 splits: name one of .*qrels/test\.tsv"):
        read_pairs(tmp_path)
    found = read_pairs(tmp_path / "qrels" / "train.tsv")
    assert (found.queries, found.codes, found.left_out) == (("two",), ("code",), {EMPTY_PAIR: 1})


def test_codesearchnet_is_read_as_published_by_its_tokens(tmp_path: Path) -> None:
    folder = tmp_path / "final" / "jsonl" / "train"
    undocumented = DOCUMENTED | {"docstring": "", "docstring_tokens": []}
    write(folder / "python_train_1.jsonl.gz", DOCUMENTED | {"docstring_tokens": ["Second"]})
    write(folder / "python_train_0.jsonl.gz", DOCUMENTED, undocumented)
    found = read_pairs(folder)
    assert found.queries == ("Sort a list .", "Second")
    assert found.codes == ("def f ( x ) : x . sort ( )",) * 2
    assert (found.name, found.left_out) == ("train", {NO_DOCUMENTATION: 1})


def test_without_tokens_the_first_paragraph_and_the_bare_function_are_a_pair(
    tmp_path: Path,
) -> None:
    python = {key: DOCUMENTED[key] for key in ("language", "code", "docstring")}
    java = {"language": "java", "code": "int f() { return 1; }", "docstring": "One."}
    broken = python | {"code": "print 'x'"}
    found = read_pairs(write(tmp_path / "a.jsonl", python, java, broken))
    assert found.queries == ("Sort a list.", "One.", "Sort a list.")
    assert found.codes == ("def f(x):\n    x.sort()", "int f() { return 1; }", "print 'x'")


@pytest.mark.parametrize("form", ["lines", "array", "compressed"])
def test_pairs_by_hand_count_unless_they_are_labelled_0(tmp_path: Path, form: str) -> None:
    cosqa = {"doc": "open a file", "code": "open(x)", "label": 1, "code_tokens": "open ( x )"}
    items = [PAIR, cosqa, cosqa | {"label": 0}]
    if form == "array":
        file = tmp_path / "p.json"
        file.write_text(json.dumps(items, indent=1))
    else:
        file = write(tmp_path / ("p.jsonl.gz" if form == "compressed" else "p.jsonl"), *items)
    found = read_pairs(file)
    assert (found.name, found.queries) == ("p", ("sort a list", "open a file"))
    assert found.codes == ("def f(x):\n    return sorted(x)", "open(x)")
    assert found.left_out == {NOT_RELEVANT: 1}


def test_the_fingerprint_is_that_of_the_texts_in_their_order(tmp_path: Path) -> None:
    first, second = PAIR, PAIR | {"query": "another"}
    prints = {
        read_pairs(write(tmp_path / name, *items)).fingerprint
        for name, items in (
            ("a", (first, second)), ("b", (first, second, first | {"label": 0})),
            ("c", (second, first)), ("d", (first,)),
        )
    }  # fmt: skip
    assert len(prints) == 3


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], r"p\.jsonl holds no pairs.*: write lines such as"),
        ([PAIR | {"label": 0}], r"holds no pairs .*\(1 x pair labelled 0\)"),
        ([PAIR, {"query": "q"}], r'p\.jsonl:2: the pair has no code: write .*"code"'),
        ([PAIR | {"code": " \n"}], r"p\.jsonl:1: the pair has an empty code"),
        ([PAIR | {"query": ""}], r"p\.jsonl:1: the pair has an empty query"),
        ([PAIR | {"label": 2}], r"p\.jsonl:1: label: Input should be less than"),
        ([{"code": "x"}], r'p\.jsonl:1: there is neither "query" nor "docstring"'),
        ([{"docstring": "x"}], r'p\.jsonl:1: .* neither "code" nor "code_tokens"'),
        (["text"], r"p\.jsonl:1: Input should be a valid dictionary"),
    ],
)
def test_what_is_no_file_of_pairs_is_told_with_its_line(
    tmp_path: Path, items: list[object], message: str
) -> None:
    with pytest.raises(SourceError, match=message):
        read_pairs(write(tmp_path / "p.jsonl", *items))


def test_files_that_are_missing_cut_or_there_twice_are_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file or folder"):
        read_pairs(tmp_path / "missing")
    with pytest.raises(SourceError, match=r"holds no \*\.jsonl .*: write lines"):
        read_pairs(tmp_path)
    cut = write(tmp_path / "jsonl" / "train" / "a.jsonl.gz", *[PAIR] * 50)
    with pytest.raises(SourceError, match=r"holds no \*\.jsonl .*: name one of .*/jsonl/train"):
        read_pairs(tmp_path)
    cut.write_bytes(cut.read_bytes()[:-20])
    with pytest.raises(SourceError, match=r"a\.jsonl\.gz:\d+: the compressed file is cut short"):
        read_pairs(cut.parent)
    cut.write_bytes(b"no gzip")
    with pytest.raises(SourceError, match=r"a\.jsonl\.gz cannot be read: .*gzip"):
        read_pairs(cut.parent)
    write(cut.parent / "a.jsonl", PAIR)
    with pytest.raises(SourceError, match="is there compressed too"):
        read_pairs(cut.parent)


@pytest.mark.data
@pytest.mark.skipif(
    "COSQA_DATA" not in os.environ, reason="COSQA_DATA names no folder with CoSQA's files"
)
def test_cosqas_published_pairs_are_read_as_they_are() -> None:
    folder = Path(os.environ["COSQA_DATA"])
    pairs = read_pairs(folder / "cosqa-dev.json")
    assert (len(pairs), pairs.left_out) == (313, {NOT_RELEVANT: 291})
    assert len(read_pairs(folder / "cosqa-retrieval-dev-500.json")) == 500
