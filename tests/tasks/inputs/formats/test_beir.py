"""Folders of BEIR and of mteb come in as benchmarks, ours and other people's.

Covers `tasks.inputs.graded`, `mteb`.
"""

import gzip
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infra.errors import SourceError
from infra.files import write_outputs
from tasks.benchmarks.interchange import mteb_files, write_beir
from tasks.benchmarks.runs import QrelsTable, rankings_of
from tasks.benchmarks.splits import repositories_by_query
from tasks.inputs.formats import at, find_split, read, read_pairs
from tasks.inputs.formats.beir import Beir
from tasks.inputs.formats.mteb import Mteb
from tasks.metrics import evaluate
from tasks.reports.diff import difference
from tests.fakes.benchmarks import people_benchmark


def split_of(path: Path, usual: str = "") -> tuple[Path, str] | None:
    found = Beir.at(path, usual)
    return (found.path, found.split) if found else None


@pytest.mark.parametrize("form", ["beir", "mteb"])
def test_a_folder_comes_in_as_the_benchmark_that_went_out(tmp_path: Path, form: str) -> None:
    out = people_benchmark()
    if form == "beir":
        write_beir(out, tmp_path)
    else:
        write_outputs(tmp_path, mteb_files(out, "mit"))
    found = read(tmp_path)
    assert {code.code_id: code.text for code in found.codes} == {
        code.code_id: code.text for code in out.codes
    }
    pairs = {(label.query_id, label.code_id, label.relevance) for label in out.labels}
    assert {(label.query_id, label.code_id, label.relevance) for label in found.labels} == pairs
    judged = {label.query_id for label in out.labels}
    assert {query.query_id: query.text for query in found.queries} == {
        query.query_id: query.text for query in out.queries if query.query_id in judged
    }
    card = {"beir": "unknown", "mteb": "mit"}
    assert [source.licence for source in found.sources] == [card[form]]


Rows = Sequence[Mapping[str, object]]
D: list[Mapping[str, object]] = [{"_id": "d", "text": "b"}]
Q: Rows = [{"_id": "1", "text": "q"}]
HEADER = "query-id\tcorpus-id\tscore\n"


def beir(
    folder: Path, qrels: str, corpus: Rows = D, queries: Rows = Q, name: str = "dev.tsv"
) -> Path:
    """Write a folder, and return it."""
    (folder / "qrels").mkdir(exist_ok=True)
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels" / name).write_text(qrels)
    return folder


def test_titles_stand_before_texts_and_other_keys_do_not_matter(tmp_path: Path) -> None:
    corpus = [{"_id": "d1", "title": "A", "text": "b", "metadata": {"x": 1}}]
    queries = [*Q, {"_id": "2", "text": "not judged"}]
    found = Beir(beir(tmp_path, "1\td1\t1\n", corpus, queries), "dev").benchmark()
    assert [code.text for code in found.codes] == ["A b"]
    assert [query.query_id for query in found.queries] == ["1"]
    assert found.label_origin == "beir:dev"


@pytest.mark.parametrize(
    ("corpus", "qrels", "message"),
    [
        (D * 2, "1\td\t1\n", r"corpus.jsonl:2: id 'd' is taken already by .*:1"),
        ([{"_id": "d"}], "1\td\t1\n", r"corpus.jsonl:1: text: Field required"),
        ([{"text": "b"}], "1\td\t1\n", r"jsonl:1: _id: Field .*keys are _id, title, text"),
        (D, "1\te\t1\n", r"dev.tsv: ids of judged codes that are not in the folder: 1, 'e'"),
        (D, "2\td\t1\n", r"dev.tsv: ids of judged queries that are not in the folder: 1, '2'"),
        (D, "", r"dev.tsv judges no code as relevant"),
        (D, "1\td\t0\n", r"dev.tsv judges no code as relevant"),
    ],
)
def test_a_bad_folder_is_an_error(tmp_path: Path, corpus: Rows, qrels: str, message: str) -> None:
    folder = beir(tmp_path, f"{HEADER}{qrels}", corpus)
    with pytest.raises(SourceError, match=message):
        Beir(folder, "dev").benchmark()


@pytest.mark.parametrize("name", ["corpus", "queries"])
def test_an_empty_file_is_named(tmp_path: Path, name: str) -> None:
    file = beir(tmp_path, "1\td\t1\n") / f"{name}.jsonl"
    file.write_text("\n")
    with pytest.raises(SourceError, match=rf"{name}\.jsonl is empty: put the folder's {name}"):
        Beir(tmp_path, "dev").benchmark()


def test_a_split_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"test.tsv cannot be read"):
        Beir(beir(tmp_path, HEADER)).benchmark()


def test_the_only_split_is_read_and_one_of_several_is_named(tmp_path: Path) -> None:
    folder = beir(tmp_path, "1\td\t1\n")
    dev, train = (folder / "qrels" / f"{split}.tsv" for split in ("dev", "train"))
    assert split_of(folder) == split_of(dev) == (folder, "dev")
    train.write_bytes(dev.read_bytes())
    with pytest.raises(SourceError, match=r"2 splits: name one of .*dev\.tsv, .*train\.tsv"):
        split_of(folder, usual="test")
    assert split_of(train, usual="test") == (folder, "train")
    dev.rename(folder / "qrels" / "test.tsv")
    assert split_of(folder, usual="test") == (folder, "test")
    assert split_of(folder / "qrels" / "valid.tsv") is split_of(folder / "qrels") is None


def test_a_compressed_folder_is_read_and_no_file_may_be_there_in_both_forms(tmp_path: Path) -> None:
    folder = beir(tmp_path, "1\td\t1\n")
    files = [folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels" / "dev.tsv"]
    plain = Beir(folder, "dev").benchmark()
    for file in files:
        packed = file.with_name(f"{file.name}.gz")
        packed.write_bytes(gzip.compress(file.read_bytes()))
        with pytest.raises(SourceError, match=rf"{file.name} is there compressed too"):
            Beir(folder, "dev").benchmark()
        file.unlink()
    assert split_of(folder) == split_of(folder / "qrels" / "dev.tsv.gz") == (folder, "dev")
    found = Beir(folder, "dev").benchmark()
    assert (found.labels, len(found.codes)) == (plain.labels, 1)


@pytest.mark.parametrize("file", ["corpus.jsonl", "queries.jsonl"])
@pytest.mark.parametrize("unfit", ["a b", "a\nb", "a\u2028b", " a", "a\u0000"])
def test_an_id_is_one_field_of_a_line(tmp_path: Path, file: str, unfit: str) -> None:
    write_beir(people_benchmark(), tmp_path / "beir")
    line = json.dumps({"_id": unfit, "text": "x = 1"})
    (tmp_path / "beir" / file).write_text(f"{line}\n")
    with pytest.raises(SourceError, match=rf"{file}:1: .*_id"):
        Beir(tmp_path / "beir").benchmark()


FOUND = [("q1", "c1", 1.0), ("q2", "c2", 2.0)]
TWO = "q1\tc1\t1\nq2\tc2\t2\n"


def judged(folder: Path, qrels: str, name: str = "test.tsv") -> Path:
    """Write a folder of two queries and two codes with qrels."""
    codes, queries = ([{"_id": f"{letter}{n}", "text": "x"} for n in (1, 2)] for letter in "cq")
    return beir(folder, qrels, codes, queries, name)


@pytest.mark.parametrize(
    "qrels",
    [
        HEADER + TWO,
        TWO,
        f"\ufeff{TWO}",
        f"\ufeff{HEADER}{TWO}",
        TWO.replace("\n", "\r\n"),
        f"\n \n{TWO}",
        f"\n{HEADER}\n{TWO}",
        f"qid pid label\n{TWO}",
        "score\tcorpus-id\tquery-id\n1\tc1\tq1\n2\tc2\tq2\n",
    ],
)
def test_no_judgement_is_taken_for_a_header(tmp_path: Path, qrels: str) -> None:
    found = Beir(judged(tmp_path, qrels)).benchmark()
    assert [(label.query_id, label.code_id, label.relevance) for label in found.labels] == FOUND


@pytest.mark.parametrize(
    ("qrels", "problem"),
    [
        ("q1\tc1\tyes\nq2\tc2\t1\n", r"test.tsv:1: relevance is 'yes', no number"),
        ("q1\tc9\t1,0\nq2\tc2\t1\n", r"test.tsv:1: relevance is '1,0', no number"),
        ("q1 0 c1 1\nq2 0 c2 1\n", r"test.tsv:1: 4 fields where query code relevance"),
        (f"{HEADER}{HEADER}{TWO}", r"test.tsv:2: relevance is 'score', no number"),
    ],
)
def test_a_first_line_without_a_reading_is_an_error(
    tmp_path: Path, qrels: str, problem: str
) -> None:
    with pytest.raises(SourceError, match=problem):
        Beir(judged(tmp_path, qrels)).benchmark()


def line(query: object, code: object, score: object) -> str:
    return json.dumps({"query-id": query, "corpus-id": code, "score": score, "other": 1}) + "\n"


def test_qrels_in_json_lines_are_those_of_the_same_table(tmp_path: Path) -> None:
    plain = Beir(judged(tmp_path, TWO)).benchmark()
    folder = judged(tmp_path, line("q1", "c1", 1) + "\n" + line("q2", "c2", 2.0), "test.jsonl")
    table, lines = folder / "qrels" / "test.tsv", folder / "qrels" / "test.jsonl"
    with pytest.raises(SourceError, match=r"test\.jsonl is the same split as test\.tsv"):
        Beir(folder).benchmark()
    table.unlink()
    assert split_of(folder) == split_of(lines) == (folder, "test")
    assert find_split(folder, "test") == lines
    assert Beir(folder).benchmark() == plain
    packed = folder / "qrels" / "dev.jsonl.gz"
    packed.write_bytes(gzip.compress(lines.read_bytes()))
    assert split_of(packed) == (folder, "dev")
    assert find_split(folder, "dev") == packed
    assert Beir(folder, "dev").benchmark().labels
    with pytest.raises(SourceError, match=r"2 splits: name one of .*dev\.jsonl\.gz.*test\.jsonl"):
        split_of(folder)


@pytest.mark.parametrize(
    ("qrels", "problem"),
    [
        (line("q1", "c1", True), r"test.jsonl:1: score: "),
        (line("q2", "c2", 1) + line("q1", "c1", "1"), r"test.jsonl:2: score: "),
        (line("q1", "c1", float("nan")), r"test.jsonl:1: score: "),
        (line("q1", "c1", None), r"test.jsonl:1: score: "),
        (line(1, "c1", 1), r"test.jsonl:1: query-id: "),
        (line("q 1", "c1", 1), r"test.jsonl:1: query-id: "),
        (TWO, r"test.jsonl:1: column 1: "),
        (line("q1", "c1", 1).replace("other", "score"), r"test.jsonl:1: .*key 'score' twice"),
        (line("q1", "c1", 1) + line("q1", "c1", 0), r"'c1' is judged twice for query 'q1'"),
    ],
)
def test_a_json_line_without_a_reading_is_an_error(
    tmp_path: Path, qrels: str, problem: str
) -> None:
    with pytest.raises(SourceError, match=problem):
        Beir(judged(tmp_path, qrels, "test.jsonl")).benchmark()


def test_judged_codes_that_are_missing_are_told_and_count_as_never_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = judged(tmp_path, f"{TWO}q1\tc9\t1\nq2\tc8\t0\nq2\tc9\t1\n")
    found = Beir(folder).benchmark()
    assert {(label.query_id, label.code_id, label.relevance) for label in found.labels} == {
        *FOUND, ("q1", "c9", 1.0), ("q2", "c8", 0.0), ("q2", "c9", 1.0)
    }  # fmt: skip
    assert found.dropped == {"judged code that is not in the corpus, and counts as never found": 3}
    assert "not in the corpus count as never found (3 judgements, of c8, c9 …)" in caplog.text
    assert len(read_pairs(folder)) == 2
    assert repositories_by_query(found.codes, found.labels).keys() == {"q1", "q2"}


def test_a_query_whose_relevant_codes_are_all_missing_counts_as_for_trec_eval(
    tmp_path: Path,
) -> None:
    found = Beir(judged(tmp_path, "q1\tc1\t1\nq1\tc7\t1\nq1\tc8\t2\nq2\tc9\t1\n")).benchmark()
    rankings = rankings_of({"q1": {"c1": 1.0, "c2": 0.5}, "q2": {"c2": 1.0}})
    for name, values in {"Recall@10": [1 / 3, 0.0], "MRR": [1.0, 0.0], "MAP": [1 / 3, 0.0]}.items():
        scores = evaluate(rankings, QrelsTable.of_labels(found.labels), [name])
        assert [scores[name][query] for query in ("q1", "q2")] == pytest.approx(values)


def test_a_diff_shows_a_changed_label_of_a_code_that_is_missing(tmp_path: Path) -> None:
    before, after = (
        Beir(judged(tmp_path, f"{TWO}q1\tc9\t{grade}\n")).benchmark() for grade in (0, 1)
    )
    [flip] = difference(before, after).flips
    assert (flip.query_id, flip.code_id, flip.code, flip.after) == ("q1", "c9", "", 1.0)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "qrels"])
def test_a_file_of_a_folder_is_no_link_that_leads_outside(tmp_path: Path, name: str) -> None:
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    plain = Beir(judged(folder, TWO)).benchmark()
    for place, is_inside in ((folder / "kept", True), (other, False)):
        shutil.move(folder / name, place)
        (folder / name).symlink_to(place)
        if is_inside:
            assert Beir(folder).benchmark() == plain
        else:
            with pytest.raises(SourceError, match=r"a link that leads outside of .*folder \(1 in"):
                Beir(folder).benchmark()
        (folder / name).unlink()
        shutil.move(place, folder / name)


CORPUS: Rows = [
    {"id": "c1", "title": "", "text": "def f"},
    {"id": "c2", "title": None, "text": "def g"},
]
QUERIES: Rows = [{"id": "q1", "text": "sort a list"}, {"id": "q2", "text": "not judged"}]
GRADES: Rows = [{"query-id": "q1", "corpus-id": "c1", "score": 1}]
LAST, ASKED = "corpus/corpus-00001-of-00002", "queries/queries-00000-of-00001"


def parquet(folder: Path, name: str, rows: Rows) -> None:
    file = folder / f"{name}.parquet"
    file.parent.mkdir(exist_ok=True, parents=True)
    pq.write_table(pa.Table.from_pylist([*rows]), file)


def task(folder: Path, grades: str = "qrels/test-00000-of-00001") -> Path:
    parquet(folder, "corpus/corpus-00000-of-00002", CORPUS[:1])
    parquet(folder, LAST, CORPUS[1:])
    parquet(folder, ASKED, QUERIES)
    parquet(folder, grades, GRADES)
    return folder


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


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        (LAST, None, r"corpus-00001-of-00002\.parquet cannot be read .*copy it again"),
        (ASKED, QUERIES[1:], r"'q1' among them: take the qrels that belong to it"),
        (LAST, CORPUS[:1], r"00002\.parquet:1: id 'c1' is taken already by .*00002\.parquet:1"),
        (LAST, [{"text": "def g"}], r"00002\.parquet:1: _id: Field required"),
    ],
)
def test_a_spoilt_file_is_named(tmp_path: Path, name: str, rows: Rows | None, message: str) -> None:
    file = task(tmp_path) / f"{name}.parquet"
    if rows is None:
        file.write_bytes(file.read_bytes()[:40])
    else:
        parquet(tmp_path, name, rows)
    with pytest.raises(SourceError, match=message):
        read(tmp_path)


def test_a_folder_of_something_else_is_none(tmp_path: Path) -> None:
    parquet(tmp_path, "corpus/test", CORPUS)
    assert Mteb.at(tmp_path, "test") is None
