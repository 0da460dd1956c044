"""Laws of the parts of benchmarks: rows, runs, splits, readers.

Covers `challenge`, `pair_splits`, `reader`, `rows`, `schemas`, `runs`.
"""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from infra.errors import PublishError, SourceError
from infra.records import Code, Label
from tasks.benchmarks import (
    benchmark_fingerprint,
    read_benchmark,
    read_manifest,
    write_benchmark,
)
from tasks.benchmarks.benchmark import Benchmark
from tasks.benchmarks.challenge import Grade, is_right, read_grades
from tasks.benchmarks.pair_splits import find_split, split_path
from tasks.benchmarks.pairs import read_pairs
from tasks.benchmarks.rows import Rows
from tasks.benchmarks.runs import Numbering, _refuse_sparse, numbered
from tests.fakes.benchmarks import CODES, agents_benchmark, people_benchmark
from tests.fakes.rankings import rank_scores
from tests.fakes.studies import csn_annotations


def test_grades_keep_their_order_and_their_notes(tmp_path: Path) -> None:
    file = csn_annotations(tmp_path)
    file.write_text(file.read_text().replace("Sort,u/a,1,", 'Sort,u/a,1,"sorts, but a copy"'))
    grades = read_grades(file)["python"]["sort"]
    assert grades == {"u/a": [Grade(3, ""), Grade(1, "sorts, but a copy")], "u/b": [Grade(0, "")]}
    assert {url: is_right(given) for url, given in grades.items()} == {"u/a": True, "u/b": False}


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


@pytest.mark.parametrize("benchmark", [people_benchmark(), agents_benchmark()])
def test_an_export_is_read_back_as_what_it_was_written_from(
    tmp_path: Path, benchmark: Benchmark
) -> None:
    write_benchmark(benchmark, tmp_path / "b", include_undecided=True)
    read = read_benchmark(tmp_path / "b")
    assert benchmark_fingerprint(read) == benchmark_fingerprint(benchmark)
    assert list(read.evidence) == list(benchmark.evidence)
    assert (read.undecided, read.failed, read.dropped) == (
        benchmark.undecided,
        benchmark.failed,
        benchmark.dropped,
    )


def test_a_changed_export_is_refused(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    (tmp_path / "b" / "labels.parquet").write_bytes(b"")
    with pytest.raises(PublishError, match=r"labels.parquet was changed"):
        read_benchmark(tmp_path / "b")


@pytest.mark.parametrize("name", ["../../elsewhere", "a\0b", "", "a\x1b[31m"])
def test_an_export_whose_name_is_no_folder_s_is_refused(tmp_path: Path, name: str) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    file = tmp_path / "b" / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "name": name}))
    with pytest.raises(PublishError, match="is not a manifest"):
        read_manifest(tmp_path / "b")


def test_an_export_of_before_there_were_recipes_of_labels_is_read(tmp_path: Path) -> None:
    written = write_benchmark(agents_benchmark(), tmp_path / "b")
    file = tmp_path / "b" / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    del manifest["recipes"]
    file.write_text(json.dumps(manifest), encoding="utf-8")
    assert read_manifest(tmp_path / "b") == written
    assert read_benchmark(tmp_path / "b").recipes == ()


ROWS = Rows.of(Code, CODES)


def test_rows_are_read_as_the_records_that_they_were_made_of() -> None:
    assert list(ROWS) == list(CODES)
    whole: Sequence[Code] = ROWS
    assert whole == CODES
    assert (len(whole), whole[1], whole[-1]) == (4, CODES[1], CODES[-1])
    assert whole[1:3] == CODES[1:3]
    assert whole[::-1] == CODES[::-1]
    assert list(reversed(ROWS)) == list(CODES[::-1])
    assert CODES[2] in ROWS
    assert Rows.of(Code, ROWS) is ROWS
    assert list(Rows.of(Code, ())) == []
    shorter: Sequence[Code] = CODES[:3]
    assert whole != shorter
    with pytest.raises(IndexError):
        ROWS[4]


def test_rows_are_chosen_and_joined_by_columns() -> None:
    assert list(ROWS.where(pc.equal(ROWS.column("name"), "largest"))) == [CODES[1]]
    assert list(ROWS[:1].joined(CODES[2:])) == [CODES[0], *CODES[2:]]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_ordered_rows_ascend_by_their_ids(order: tuple[int, ...]) -> None:
    labels = people_benchmark().labels
    shuffled = Rows.of(Label, [labels[place] for place in order])
    assert list(shuffled.ordered()) == sorted(labels, key=lambda label: label.key)
    ascending = shuffled.ordered()
    assert ascending.ordered() is ascending, "rows in order are not copied"


def test_fields_that_an_older_export_lacks_have_their_defaults() -> None:
    older = pa.table({"code_id": ["c1"], "text": ["x"], "parameters": [["a"]]})
    lines = pa.array([0], pa.int32())
    table = older.append_column("first_line", lines).append_column("last_line", lines)
    assert list(Rows(Code, table)) == [Code.model_validate(table.to_pylist()[0])]


@pytest.mark.parametrize("levels", [1, 6, 10**9])
@pytest.mark.parametrize(("codes", "depth"), [(40, 1), (40, 39), (40, 99), (3000, 7), (9000, 500)])
def test_the_best_are_those_of_a_full_stable_sort(codes: int, depth: int, levels: int) -> None:
    scores = np.random.default_rng(depth).integers(0, levels, size=(5, codes)).astype(float)
    scores[1] *= scores[1] < levels / 50  # nearly all are 0
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    ids = [f"c{n:04}" for n in range(codes)]
    found = rank_scores([f"q{n}" for n in range(5)], ids, scores, depth)
    assert np.array_equal(found.codes, expected)
    assert np.array_equal(found.scores, np.take_along_axis(scores, expected, axis=1))


def test_names_are_numbered_alike_in_one_piece_and_in_several() -> None:
    names = ["b", "a", "b", "c", "a"]
    for column in (pa.array(names), pa.chunked_array([names[:2], [], names[2:]])):
        distinct, places = numbered(column)
        assert [distinct[place] for place in places] == names
        assert distinct == ["b", "a", "c"], "in the order of their first place"
    assert numbered(pa.chunked_array([], pa.string()))[0] == []
    numbering = Numbering()
    for piece in (names[:2], [], names[2:]):
        numbering.add(pa.array(piece, pa.string()))
    distinct, positions = numbering.result()
    assert [distinct[position] for position in positions] == names
    assert Numbering().result()[0] == []


def test_runs_of_a_method_that_finds_little_for_most_queries_are_read() -> None:
    _refuse_sparse(np.array([1_000, *[1] * 20_603]))  # CoSQA+'s queries, at the usual depth
    with pytest.raises(ValueError, match="cut the long ones"):
        _refuse_sparse(np.array([100_000, *[1] * 20_603]))
