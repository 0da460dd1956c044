"""Laws of what is counted in exports and read from files of compared annotators."""

import json
from pathlib import Path

import pytest

from infra.errors import SourceError
from infra.records import Code, Label, Query
from tasks.benchmarks import write_benchmark
from tasks.stages.study.files import benchmark_facts, matches_of, read_annotators
from tasks.studies import Annotator, BenchmarkFacts
from tests.fakes.benchmarks import people_benchmark

QUERIES = tuple(Query.of(f"query {number}") for number in range(3))
CODES = tuple(Code.of("x" * length) for length in (4, 8, 60))
# The first code answers two queries, the second is labelled 0, the third is not labelled.
LABELS = tuple(
    Label(
        query_id=QUERIES[query].query_id,
        code_id=CODES[code].code_id,
        origin="people",
        relevance=relevance,
    )
    for query, code, relevance in ((0, 0, 1), (1, 0, 2), (1, 1, 0))
)


@pytest.fixture
def export(tmp_path: Path) -> Path:
    update = {"queries": QUERIES, "codes": CODES, "labels": LABELS}
    write_benchmark(people_benchmark().model_copy(update=update), tmp_path / "b")
    return tmp_path / "b"


def test_matches_are_counted_for_all_queries_those_without_any_too(export: Path) -> None:
    assert matches_of(export) == dict(
        zip(sorted(q.query_id for q in QUERIES), matches_by_id(), strict=True)
    )


def matches_by_id() -> list[int]:
    numbers = {QUERIES[0].query_id: 1, QUERIES[1].query_id: 1, QUERIES[2].query_id: 0}
    return [numbers[query] for query in sorted(numbers)]


def test_an_exports_labels_are_counted_and_only_labelled_codes_measured(export: Path) -> None:
    assert benchmark_facts(export) == BenchmarkFacts(
        pairs=3,
        codes=2,
        mean_characters=6.0,
        matches_of_queries={0: 1, 1: 2},
        queries_of_codes={2: 1},
    )


def entry(name: str, model: str = "") -> dict[str, object]:
    return {"name": name, "model": model, "pairs": 4, "accuracy": 0.75, "usd": None}


def test_annotators_are_read_by_configuration_and_model(tmp_path: Path) -> None:
    together = {"alpha_with_people": 0.5}
    rows = [entry("first"), entry("paper", "a/b") | together]
    file = tmp_path / "compared.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    assert read_annotators([file]) == [
        Annotator(configuration="first", accuracy=0.75, pairs=4, file=str(file)),
        Annotator(
            configuration="paper", model="a/b", accuracy=0.75, pairs=4, alpha_with_people=0.5,
            file=str(file),
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [('{"a": 1}', "the whole: .*list"), ('[{"name": 1}]', r"0\.name"), ("[", "no complete JSON")],
)
def test_another_file_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=f"other.json.*{message}"):
        read_annotators([file])
