"""Laws of the registry of formats: each is found by what it has, and read by all that takes it.

Covers `tasks.inputs.pairs`.
"""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Self

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
from tasks.inputs.formats.pair_files import PairFiles
from tasks.inputs.pairs import Pairs
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
