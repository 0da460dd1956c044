"""Laws of the split of training data, of published parts, and of pairs that are left out."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from infra.errors import SourceError
from infra.records import Code, Query
from infra.settings import TrainingSettings
from tasks.benchmarks import write_benchmark
from tasks.benchmarks.benchmark import Benchmark
from tasks.benchmarks.interchange import write_beir
from tasks.benchmarks.splits import repository_of
from tasks.training import data
from tasks.training.data import TrainingData, read_training_data
from tests.tasks.reports.cases import benchmark as forty_queries
from tests.tasks.training.world import rows, write_lines

USUAL = TrainingSettings()
NAMES = ["train"] * 20 + ["test"] * 10 + ["dev"] * 10  # parts of the leaderboard's forty queries


def benchmark_of(pairs: list[tuple[str, Code]]) -> Benchmark:
    asked = [(Query.of(text), code) for text, code in pairs]
    usual = forty_queries()
    labels = [
        usual.labels[0].model_copy(
            update={"query_id": query.query_id, "code_id": code.code_id, "relevance": 1.0}
        )
        for query, code in asked
    ]
    queries = {query.query_id: query for query, _ in asked}
    codes = {code.code_id: code for _, code in asked}
    update = {"queries": (*queries.values(),), "codes": (*codes.values(),), "labels": (*labels,)}
    return usual.model_copy(update=update)


def texts_of(found: TrainingData) -> list[set[str]]:
    """Return the queries of training, dev and test."""
    parts = (found.dev, found.test)
    return [
        set(found.train.queries),
        *({query.text for query in part.queries} for part in parts),
    ]


@pytest.mark.parametrize("split_by", ["query", "repository"])
def test_a_split_has_the_ratio_and_keeps_queries_or_repositories_whole(split_by: str) -> None:
    benchmark = benchmark_of(
        [
            (
                f"ask {query}",
                Code.of(
                    f"def f():\n    return {query}, {n}", url=f"https://g.example/o/r{query % 20}"
                ),
            )
            for query in range(60)
            for n in range(1 + query % 6)
        ]
    )
    settings = TrainingSettings(split_by=split_by)
    placed = data._split(benchmark, settings)
    sizes = Counter(placed.values())
    assert [sizes[part] for part in ("train", "dev", "test")] == [48, 6, 6]
    homes = {
        (repository_of(code), placed[label.query_id])
        for label, code in zip(benchmark.labels, benchmark.codes, strict=True)
    }
    assert split_by == "query" or len(homes) == 20
    assert data._split(benchmark, settings) == placed


def test_a_file_of_pairs_is_split_and_the_seed_of_training_leaves_the_split(tmp_path: Path) -> None:
    lines = [*rows(40), {"query": "no", "code": "def no():\n    pass", "label": 0}]
    file = write_lines(tmp_path / "p.jsonl", lines)
    found = read_training_data(file, USUAL, None)
    assert [len(part) for part in texts_of(found)] == [32, 4, 4]
    assert set.union(*texts_of(found)) == {line["query"] for line in rows(40)}
    assert found.name == "p"
    assert found.dropped == 0
    again = read_training_data(file, TrainingSettings(seed=7), None)
    assert texts_of(again) == texts_of(found)
    assert again.fingerprint == found.fingerprint


def parts(folder: Path, *names: str) -> dict[str, list[dict[str, Any]]]:
    """Write parts of ten pairs each as JSON Lines; return their lines."""
    lines = rows(10 * len(names))
    made = {name: lines[10 * n : 10 * (n + 1)] for n, name in enumerate(names)}
    for name, some in made.items():
        write_lines(folder / f"{name}.jsonl", some)
    return made


@pytest.mark.parametrize("dev", ["dev", "valid"])
def test_published_parts_are_kept(tmp_path: Path, dev: str) -> None:
    made = parts(tmp_path / "d", "train", dev, "test")
    found = read_training_data(tmp_path / "d", USUAL, None)
    expected = [{line["query"] for line in lines} for lines in made.values()]
    assert texts_of(found) == expected
    assert found.name == "d"


def test_codesearchnets_folders_are_kept(tmp_path: Path) -> None:
    made = {}
    for part, lines in zip(
        ("train", "valid", "test"), (rows(30)[n::3] for n in range(3)), strict=True
    ):
        folder = tmp_path / "jsonl" / part
        folder.mkdir(parents=True)
        with gzip.open(folder / f"python_{part}_0.jsonl.gz", "wt") as stream:
            for line in lines:
                tokens = {
                    "docstring_tokens": line["query"].split(), "docstring": line["query"],
                    "code_tokens": line["code"].split(), "code": line["code"],
                }  # fmt: skip
                stream.write(json.dumps(tokens) + "\n")
        made[part] = {line["query"] for line in lines}
    found = read_training_data(tmp_path / "jsonl", USUAL, None)
    assert texts_of(found) == list(made.values())
    assert found.name == "jsonl"


def test_a_dev_part_that_lacks_is_taken_from_training_and_nothing_is_lost(tmp_path: Path) -> None:
    made = parts(tmp_path / "d", "train", "test")
    found = read_training_data(tmp_path / "d", USUAL, None)
    train, dev, test = texts_of(found)
    assert train | dev == {line["query"] for line in made["train"]}
    assert len(dev) == 1
    assert test == {line["query"] for line in made["test"]}


def test_splits_of_an_export_and_of_a_beir_folder_are_kept(tmp_path: Path) -> None:
    whole = forty_queries()
    split = dict(zip((query.query_id for query in whole.queries), NAMES, strict=True))
    benchmark = whole.model_copy(update={"splits": split})
    write_benchmark(benchmark, tmp_path / "b")
    expected = [
        {query.text for query in whole.queries if split[query.query_id] == name}
        for name in ("train", "dev", "test")
    ]
    for folder in (tmp_path / "b", tmp_path / "b" / "beir"):
        found = read_training_data(folder, USUAL, None)
        assert texts_of(found) == expected
        assert len(found.train) == 40
        assert {len(found.dev.codes), len(found.test.codes)} == {60}


def test_training_pairs_of_dev_or_test_queries_are_left_out(tmp_path: Path) -> None:
    made = parts(tmp_path / "d", "train", "dev", "test")
    known = [made["dev"][0], made["test"][0] | {"query": made["test"][0]["query"].upper()}]
    write_lines(tmp_path / "d" / "train.jsonl", [*made["train"], *known])
    found = read_training_data(tmp_path / "d", USUAL, None)
    assert found.dropped == 2
    assert set(found.train.queries) == {line["query"] for line in made["train"]}


def test_a_benchmark_to_test_on_takes_the_place_of_the_own_test_queries(tmp_path: Path) -> None:
    parts(tmp_path / "d", "train", "dev")
    write_beir(forty_queries(), tmp_path / "beir")
    found = read_training_data(tmp_path / "d", USUAL, tmp_path / "beir")
    assert len(found.test.queries) == 40
    with pytest.raises(SourceError, match="has no test pairs"):
        read_training_data(tmp_path / "d", USUAL, None)
    (tmp_path / "no").mkdir()
    with pytest.raises(SourceError, match="is no benchmark to test on"):
        read_training_data(tmp_path / "d", USUAL, tmp_path / "no")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (rows(1), "0 training pairs of a query and a right code are too few to train by"),
        (rows(5), "0 dev pairs of a query and a right code are too few"),
        ([line | {"query": "one"} for line in rows(30)], "too few to train by"),
        (
            [line | {"label": 0} for line in rows(30)],
            r"holds no pairs of a query and its code \(30 x pair labelled 0\)",
        ),
        ([], "holds no pairs"),
        ([{"query": "q"}], "q"),
    ],
)
def test_data_that_cannot_be_trained_on_is_refused(
    tmp_path: Path, lines: list[dict[str, Any]], message: str
) -> None:
    file = write_lines(tmp_path / "p.jsonl", lines)
    with pytest.raises(SourceError, match=message) as refused:
        read_training_data(file, USUAL, None)
    assert "p.jsonl" in str(refused.value)


@pytest.mark.parametrize(
    ("code", "repository"),
    [
        (Code.of("x", url="https://github.com/own/er/blob/main/a.py#L1"), "own/er"),
        (Code.of("x", module="numpy.linalg.norm"), "numpy"),
        (Code.of("x", origin="file/3"), "file"),
    ],
)
def test_the_repository_is_that_of_the_address_or_the_package(code: Code, repository: str) -> None:
    assert repository_of(code) == repository


def test_the_fingerprint_is_of_all_that_is_trained_and_chosen_by(tmp_path: Path) -> None:
    made = parts(tmp_path / "d", "train", "dev", "test")
    first = read_training_data(tmp_path / "d", USUAL, None).fingerprint
    seen = {first}
    for name, change in (("train", {"query": "new"}), ("dev", {"code": "def new():\n    pass"})):
        lines = [made[name][0] | change, *made[name][1:]]
        write_lines(tmp_path / "d" / f"{name}.jsonl", lines)
        seen.add(read_training_data(tmp_path / "d", USUAL, None).fingerprint)
        write_lines(tmp_path / "d" / f"{name}.jsonl", made[name])
    assert len(seen) == 3


def test_the_fingerprint_is_of_a_beir_folders_texts_too(tmp_path: Path) -> None:
    queries = (query.query_id for query in forty_queries().queries)
    split = dict(zip(queries, NAMES, strict=True))
    write_beir(forty_queries().model_copy(update={"splits": split}), tmp_path / "b")
    first = read_training_data(tmp_path / "b", USUAL, None).fingerprint
    corpus = tmp_path / "b" / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace("return 59", "return 159"))
    assert read_training_data(tmp_path / "b", USUAL, None).fingerprint != first


def test_a_query_in_another_normal_form_of_its_letters_is_left_out(tmp_path: Path) -> None:
    queries = {
        "train": ["re\u0301sume\u0301", "b", "c"],
        "dev": ["d"],
        "test": ["R\u00e9sum\u00e9", "f"],
    }
    for part, texts in queries.items():
        lines = [{"query": text, "code": f"def f():\n    return {text!r}"} for text in texts]
        write_lines(tmp_path / f"{part}.jsonl", lines)
    found = read_training_data(tmp_path, USUAL, None)
    assert (found.train.queries, found.dropped) == (("b", "c"), 1)
