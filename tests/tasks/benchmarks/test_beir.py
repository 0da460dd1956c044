"""BEIR folders come in as benchmarks, ours and other people's."""

import gzip
import json
from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.benchmarks import write_benchmark
from tasks.benchmarks.beir import beir_split, read_beir
from tests.fakes.benchmarks import people_benchmark


def test_an_exported_folder_comes_in_as_what_went_out(tmp_path: Path) -> None:
    out = people_benchmark()
    write_benchmark(out, tmp_path / "b")
    found = read_beir(tmp_path / "b" / "beir")
    assert {code.code_id: code.text for code in found.codes} == {
        code.code_id: code.text for code in out.codes
    }
    pairs = {(label.query_id, label.code_id, label.relevance) for label in out.labels}
    assert {(label.query_id, label.code_id, label.relevance) for label in found.labels} == pairs
    texts = {query.query_id: query.text for query in out.queries}
    judged = {label.query_id for label in out.labels}
    assert {query.query_id: query.text for query in found.queries} == {
        query: texts[query] for query in judged
    }


def beir(folder: Path, corpus: list[object], queries: list[object], qrels: str) -> Path:
    (folder / "qrels").mkdir()
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\n" + qrels)
    return folder


def test_titles_stand_before_texts_and_other_keys_do_not_matter(tmp_path: Path) -> None:
    corpus: list[object] = [{"_id": "d1", "title": "A", "text": "b", "metadata": {"x": 1}}]
    queries: list[object] = [{"_id": "1", "text": "q"}, {"_id": "2", "text": "not judged"}]
    found = read_beir(beir(tmp_path, corpus, queries, "1\td1\t1\n"), "dev")
    assert [code.text for code in found.codes] == ["A b"]
    assert [query.query_id for query in found.queries] == ["1"]
    assert found.label_origin == "beir:dev"


@pytest.mark.parametrize(
    ("corpus", "qrels", "message"),
    [
        (
            [{"_id": "d", "text": "b"}] * 2,
            "1\td\t1\n",
            r"corpus.jsonl:2: id 'd' is taken already by .*:1",
        ),
        ([{"_id": "d"}], "1\td\t1\n", r"corpus.jsonl:1: text: Field required"),
        ([{"_id": "d", "text": "b"}], "1\te\t1\n", r"dev.tsv: 1 judged ids of kind code .*'e'"),
        ([{"_id": "d", "text": "b"}], "2\td\t1\n", r"dev.tsv: 1 judged ids of kind query .*'2'"),
        ([{"_id": "d", "text": "b"}], "1\td\n", r"dev.tsv:2: 2 fields where query code relevance"),
        ([{"_id": "d", "text": "b"}], "1\td\tx\n", r"dev.tsv:2: relevance is 'x', no number"),
        ([{"_id": "d", "text": "b"}], "", r"dev.tsv judges no code as relevant"),
        ([{"_id": "d", "text": "b"}], "1\td\t0\n", r"dev.tsv judges no code as relevant"),
    ],
)
def test_a_bad_folder_is_an_error(
    tmp_path: Path, corpus: list[object], qrels: str, message: str
) -> None:
    folder = beir(tmp_path, corpus, [{"_id": "1", "text": "q"}], qrels)
    with pytest.raises(SourceError, match=message):
        read_beir(folder, "dev")


def test_a_split_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    folder = beir(tmp_path, [{"_id": "d", "text": "b"}], [{"_id": "1", "text": "q"}], "")
    with pytest.raises(SourceError, match=r"test.tsv cannot be read"):
        read_beir(folder)


def small(folder: Path) -> Path:
    return beir(folder, [{"_id": "d", "text": "b"}], [{"_id": "1", "text": "q"}], "1\td\t1\n")


def test_the_only_split_is_read_and_one_of_several_is_named(tmp_path: Path) -> None:
    folder = small(tmp_path)
    dev, train = (folder / "qrels" / f"{split}.tsv" for split in ("dev", "train"))
    assert beir_split(folder) == beir_split(dev) == (folder, "dev")
    train.write_bytes(dev.read_bytes())
    with pytest.raises(SourceError, match=r"2 splits: name one of .*dev\.tsv, .*train\.tsv"):
        beir_split(folder, usual="test")
    assert beir_split(train, usual="test") == (folder, "train")
    dev.rename(folder / "qrels" / "test.tsv")
    assert beir_split(folder, usual="test") == (folder, "test")
    assert beir_split(folder / "qrels" / "valid.tsv") is beir_split(folder / "qrels") is None


def test_a_compressed_folder_is_read_and_no_file_may_be_there_in_both_forms(tmp_path: Path) -> None:
    folder = small(tmp_path)
    files = [folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels" / "dev.tsv"]
    plain = read_beir(folder, "dev")
    for file in files:
        packed = file.with_name(f"{file.name}.gz")
        packed.write_bytes(gzip.compress(file.read_bytes()))
        with pytest.raises(SourceError, match=rf"{file.name} is there compressed too"):
            read_beir(folder, "dev")
        file.unlink()
    assert beir_split(folder) == beir_split(folder / "qrels" / "dev.tsv.gz") == (folder, "dev")
    found = read_beir(folder, "dev")
    assert (found.labels, len(found.codes)) == (plain.labels, 1)


@pytest.mark.parametrize("file", ["corpus.jsonl", "queries.jsonl"])
@pytest.mark.parametrize("unfit", ["a b", "a\nb", "a\u2028b", " a", "a\u0000"])
def test_an_id_is_one_field_of_a_line(tmp_path: Path, file: str, unfit: str) -> None:
    write_benchmark(people_benchmark(), tmp_path)
    line = json.dumps({"_id": unfit, "text": "x = 1"})
    (tmp_path / "beir" / file).write_text(f"{line}\n")
    with pytest.raises(SourceError, match=rf"{file}:1: .*_id"):
        read_beir(tmp_path / "beir")
