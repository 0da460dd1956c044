"""Folders of mteb tasks come in as benchmarks, with the file names and columns of the hub."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infra.errors import SourceError
from infra.outputs import write_outputs
from tasks.benchmarks.interchange import mteb_files
from tasks.inputs.formats import at, find_split, read
from tasks.inputs.formats.mteb import Mteb
from tests.fakes.benchmarks import people_benchmark

Rows = Sequence[Mapping[str, object]]

CORPUS: Rows = [
    {"id": "c1", "title": "", "text": "def f"},
    {"id": "c2", "title": None, "text": "def g"},
]
QUERIES: Rows = [{"id": "q1", "text": "sort a list"}, {"id": "q2", "text": "not judged"}]
GRADES: Rows = [{"query-id": "q1", "corpus-id": "c1", "score": 1}]


def parquet(folder: Path, name: str, rows: Rows) -> None:
    file = folder / f"{name}.parquet"
    file.parent.mkdir(exist_ok=True, parents=True)
    pq.write_table(pa.Table.from_pylist([*rows]), file)


def task(folder: Path, grades: str = "qrels/test-00000-of-00001") -> Path:
    parquet(folder, "corpus/corpus-00000-of-00002", CORPUS[:1])
    parquet(folder, "corpus/corpus-00001-of-00002", CORPUS[1:])
    parquet(folder, "queries/queries-00000-of-00001", QUERIES)
    parquet(folder, grades, GRADES)
    return folder


def test_a_benchmark_comes_in_as_what_went_out(tmp_path: Path) -> None:
    out = people_benchmark()
    write_outputs(tmp_path / "task", mteb_files(out, "mit"))
    found = read(tmp_path / "task")
    assert {code.code_id: code.text for code in found.codes} == {
        code.code_id: code.text for code in out.codes
    }
    pairs = {(label.query_id, label.code_id, label.relevance) for label in out.labels}
    assert {(label.query_id, label.code_id, label.relevance) for label in found.labels} == pairs
    assert [source.licence for source in found.sources] == ["mit"], "the card's"


@pytest.mark.parametrize("grades", ["qrels/test", "data/test-00000-of-00001", "default/test"])
def test_shards_and_folders_of_grades_are_found_as_the_hub_names_them(
    tmp_path: Path, grades: str
) -> None:
    found = read(task(tmp_path, grades))
    assert [code.code_id for code in found.codes] == ["c1", "c2"]
    assert [query.query_id for query in found.queries] == ["q1"]
    assert found.label_origin == "mteb:test"


def test_ids_that_are_numbers_are_texts(tmp_path: Path) -> None:
    parquet(tmp_path, "corpus/test", [{"_id": 7, "text": "def f"}])
    parquet(tmp_path, "queries/test", [{"_id": 3, "text": "sort"}])
    parquet(tmp_path, "qrels/test", [{"query-id": 3, "corpus-id": 7, "score": 2.0}])
    (label,) = read(tmp_path).labels
    assert (label.query_id, label.code_id, label.relevance) == ("3", "7", 2.0)


def test_a_split_is_the_usual_one_or_named_by_its_file_and_has_its_own_corpus(
    tmp_path: Path,
) -> None:
    task(tmp_path)
    parquet(tmp_path, "qrels/dev-00000-of-00001", GRADES)
    parquet(tmp_path, "corpus/dev", CORPUS[:1])
    with pytest.raises(SourceError, match=r"has 2 splits: name one of"):
        at(tmp_path)
    assert at(tmp_path, "test").path == tmp_path
    named = tmp_path / "qrels" / "dev-00000-of-00001.parquet"
    found = at(named)
    assert isinstance(found, Mteb)
    assert (found.split, len(found.benchmark().codes)) == ("dev", 1)
    assert find_split(tmp_path, "dev") == named


def cut(folder: Path) -> None:
    file = folder / "corpus" / "corpus-00001-of-00002.parquet"
    file.write_bytes(file.read_bytes()[:40])


def unknown(folder: Path) -> None:
    parquet(folder, "queries/queries-00000-of-00001", QUERIES[1:])


def repeated(folder: Path) -> None:
    parquet(folder, "corpus/corpus-00001-of-00002", CORPUS[:1])


def nameless(folder: Path) -> None:
    parquet(folder, "corpus/corpus-00001-of-00002", [{"text": "def g"}])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (cut, r"corpus-00001-of-00002\.parquet cannot be read .*copy it again"),
        (unknown, r"'q1' among them: take the qrels that belong to it"),
        (repeated, r"00002\.parquet:1: id 'c1' is taken already by .*00002\.parquet:1"),
        (nameless, r"00002\.parquet:1: _id: Field required"),
    ],
)
def test_a_spoilt_file_is_named(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    task(tmp_path)
    spoil(tmp_path)
    with pytest.raises(SourceError, match=message):
        read(tmp_path)


def test_a_folder_of_something_else_is_none(tmp_path: Path) -> None:
    parquet(tmp_path, "corpus/test", CORPUS)
    assert Mteb.at(tmp_path, "test") is None
