"""Benchmarks are read as sources: all code stays, grades are labels, own ids are origins."""

from functools import partial
from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.benchmarks import write_benchmark
from tasks.inputs.formats import read
from tasks.sources.benchmark import content_ids
from tests.fakes.benchmarks import people_benchmark
from tests.tasks.sources.examples import read_one

collected = partial(read_one, "benchmark")


def test_an_export_and_its_beir_folder_give_the_same_pairs(tmp_path: Path) -> None:
    made = people_benchmark()
    write_benchmark(made, tmp_path / "b")
    found = {}
    for place in ("b", "b/beir"):
        content = collected(tmp_path / place)
        texts: dict[str, str] = {code.code_id: code.text for code in content.codes}
        asked: dict[str, str] = {query.query_id: query.text for query in content.queries}
        found[place] = {
            (asked[label.query_id], texts[label.code_id], label.relevance)
            for label in content.labels
        }
        assert {label.origin for label in content.labels} == {"benchmark"}
        assert {code.origin for code in content.codes} == {code.code_id for code in made.codes}
    assert found["b"] == found["b/beir"]
    assert len(found["b"]) == len(made.labels)


def test_licences_are_carried_over_from_export_licence_file_and_card(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    folder = tmp_path / "b" / "beir"
    assert collected(tmp_path / "b").info.licence == "MIT"
    assert collected(folder).info.licence == "unknown"
    (folder / "README.md").write_text("---\ntags: [x]\nlicense:\n- cc-by-4.0\n---\nlicense: gpl")
    assert collected(folder).info.licence == "cc-by-4.0"
    (folder / "LICENSE").write_text("MIT License\n")
    assert collected(folder).info.licence == "MIT"


def test_equal_code_of_two_ids_is_one_and_both_ids_lead_to_it(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    codes = ['{"_id": "a", "text": "def f(): pass"}', '{"_id": "b", "text": "def f(): pass\\n"}']
    (tmp_path / "corpus.jsonl").write_text("\n".join([*codes, '{"_id": "e", "text": ""}']))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "do nothing"}')
    (tmp_path / "qrels" / "test.tsv").write_text("q\ta\t1\nq\tb\t0\n")
    content = collected(tmp_path)
    assert (len(content.codes), [label.relevance for label in content.labels]) == (1, [1.0])
    assert content.dropped["query or code without text"] == 1
    ids = content_ids(read(tmp_path)).codes
    assert ids["a"] == ids["b"]
    assert "e" not in ids


def test_a_folder_of_something_else_is_refused_with_what_a_benchmark_has(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"neither an export's manifest\.json nor BEIR's corpus"):
        collected(tmp_path)
