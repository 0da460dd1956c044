"""Laws of a study's evidence: counts in exports, files of annotators, and CoSQA's own pairs."""

import json
from pathlib import Path

import pytest

from infra.collected import Collected
from infra.errors import SourceError
from infra.identity import RecipeId, SearchId
from infra.records import Annotation, Candidate, Code, Label, Query, SourceInfo
from infra.store import Database, annotations, candidates, corpus
from tasks.benchmarks import write_benchmark
from tasks.runtime.references import CollectedSource, SearchReference
from tasks.sources.cosqa import PAIR_LABELS, RETRIEVAL_LABELS
from tasks.stages.study.report import _mismatches, benchmark_facts, matches_of, read_annotators
from tasks.studies import Annotator, BenchmarkFacts, Mean
from tests.fakes.benchmarks import people_benchmark
from tests.fakes.stores import labels_by

ASKED = tuple(Query.of(f"query {number}") for number in range(3))
ANSWERS = tuple(Code.of("x" * length) for length in (4, 8, 60))
# The first code answers two queries, the second is labelled 0, the third is not labelled.
GRADES = tuple(
    Label(
        query_id=ASKED[query].query_id,
        code_id=ANSWERS[code].code_id,
        origin="people",
        relevance=relevance,
    )
    for query, code, relevance in ((0, 0, 1), (1, 0, 2), (1, 1, 0))
)

SEARCH, RECIPE = SearchId("s"), RecipeId("r")
LABELS = labels_by(SEARCH, [RECIPE], collection="cosqa")
INFO = SourceInfo(name="cosqa", licence="C-UDA", revision="1", location="here")
QUERIES = tuple(Query.of(f"query {number}") for number in range(4))
CODES = tuple(Code.of(f"def f{number}(x):\n    return x") for number in range(4))


@pytest.fixture
def export(tmp_path: Path) -> Path:
    update = {"queries": ASKED, "codes": ANSWERS, "labels": GRADES}
    write_benchmark(people_benchmark().model_copy(update=update), tmp_path / "b")
    return tmp_path / "b"


def test_matches_are_counted_for_all_queries_those_without_any_too(export: Path) -> None:
    assert matches_of(export) == dict(
        zip(sorted(q.query_id for q in ASKED), matches_by_id(), strict=True)
    )


def matches_by_id() -> list[int]:
    numbers = {ASKED[0].query_id: 1, ASKED[1].query_id: 1, ASKED[2].query_id: 0}
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


def labelled(origin: str, *relevances: float) -> Collected:
    """Return a collection whose queries are each paired with the code of their place."""
    pairs = zip(QUERIES, CODES, relevances, strict=False)
    labels = tuple(
        Label(query_id=q.query_id, code_id=c.code_id, origin=origin, relevance=relevance)
        for q, c, relevance in pairs
    )
    return Collected(info=INFO, queries=QUERIES, codes=CODES, labels=labels)


def source(database: Database, **collections: Collected) -> CollectedSource:
    named = {name.replace("_", "-"): each for name, each in collections.items()}
    corpus.replace_collections(database, "print", named, annotated="cosqa")
    search = SearchReference(search_id=SEARCH, collection="cosqa", queries=4, candidates=2)
    return CollectedSource(
        collections=tuple(corpus.collections_of(database, "print")), search=search
    )


def test_the_labels_of_people_and_of_agents_are_each_counted_over_their_pairs(
    database: Database,
) -> None:
    collected = source(
        database,
        cosqa=labelled(RETRIEVAL_LABELS, 1, 1, 1, 1),
        cosqa_pairs=labelled(PAIR_LABELS, 1, 0),
    )
    people = {"CoSQA's annotators": Mean(value=0.5, n=2)}
    assert _mismatches(database, collected, None) == people
    assert _mismatches(database, collected, LABELS) == people, "the agents have judged none"
    candidates.record_search(database, SEARCH, "cosqa", ["minilm"], 2)
    pairs = [(0, 0, 0), (1, 1, 0), (0, 1, 0), (3, 3, 1)]  # the last two are none of CoSQA's pairs
    keys = [
        {"query_id": QUERIES[query].query_id, "code_id": CODES[code].code_id}
        for query, code, _ in pairs
    ]
    candidates.add_candidates(
        database, SEARCH, [Candidate(**key, rank=1, similarity=1, by_encoder={}) for key in keys]
    )
    annotations.add_annotations(
        database,
        [
            Annotation(**key, recipe_id=RECIPE, status="labelled", label=label, path="clear_match")
            for key, (_, _, label) in zip(keys, pairs, strict=True)
        ],
    )
    assert _mismatches(database, collected, LABELS) == people | {"agents": Mean(value=1.0, n=2)}


def test_a_store_without_cosqas_pairs_has_no_share(database: Database) -> None:
    collected = source(database, cosqa=labelled(RETRIEVAL_LABELS, 1, 1))
    assert _mismatches(database, collected, None) == {}
