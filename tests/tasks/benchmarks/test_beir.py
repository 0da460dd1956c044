"""BEIR folders come in as benchmarks, ours and other people's."""

import json
from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.benchmarks import write_benchmark
from tasks.benchmarks.beir import read_beir
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


@pytest.mark.parametrize("file", ["corpus.jsonl", "queries.jsonl"])
@pytest.mark.parametrize("unfit", ["a b", "a\nb", "a\u2028b", " a", "a\u0000"])
def test_an_id_is_one_field_of_a_line(tmp_path: Path, file: str, unfit: str) -> None:
    write_benchmark(people_benchmark(), tmp_path)
    line = json.dumps({"_id": unfit, "text": "x = 1"})
    (tmp_path / "beir" / file).write_text(f"{line}\n")
    with pytest.raises(SourceError, match=rf"{file}:1: .*_id"):
        read_beir(tmp_path / "beir")
