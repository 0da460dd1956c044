"""Laws of the benchmarks that are made of stored labels: their code base and their split."""

from pathlib import Path

import pytest

from infra.collected import Collected, StoredCollection
from infra.identity import SearchId
from infra.records import Candidate, Code, Label, Query, SourceInfo
from infra.settings import PublishSettings
from infra.store import Database, candidates, corpus
from tasks.stages.labels import LabelSet, labelled_benchmark, with_split
from tests.fakes.stores import store_like

INFO = SourceInfo(name="made", licence="MIT", revision="1", location="here")
QUERIES = tuple(Query.of(text) for text in ("sort a list", "parse a date"))
CODES = tuple(Code.of(f"def f{number}(x):\n    return x") for number in range(5))
BY_ID = sorted(CODES, key=lambda code: code.code_id)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return store_like(_fill, tmp_path)


def _fill(database: Database) -> None:
    labels = (
        Label(query_id=QUERIES[0].query_id, code_id=CODES[0].code_id, origin="people", relevance=1),
        Label(query_id=QUERIES[1].query_id, code_id=CODES[4].code_id, origin="people", relevance=0),
    )
    content = Collected(info=INFO, queries=QUERIES, codes=CODES, labels=labels)
    corpus.replace_collections(database, "print", {"c": content, "d": content}, annotated="c")
    found = [
        Candidate(
            query_id=query.query_id, code_id=code.code_id, rank=1, similarity=0.5, by_encoder={}
        )
        for query, code in ((QUERIES[0], CODES[1]), (QUERIES[1], CODES[2]))
    ]
    candidates.record_search(database, SearchId("s"), "c", ["minilm"], 1)
    candidates.add_candidates(database, SearchId("s"), found)


def labels_of(collection: str, *searches: str) -> LabelSet:
    stored = StoredCollection(
        name=collection, fingerprint="print", queries=2, codes=5, is_annotated=True, input_digest=""
    )
    ids = tuple(SearchId(search) for search in searches)
    return LabelSet(collection=stored, origin="people", name=collection, searches=ids)


def test_the_code_base_is_the_collection_or_the_candidates_with_the_labelled_codes(
    database: Database,
) -> None:
    whole = labelled_benchmark(database, labels_of("c", "s"), PublishSettings())
    assert (whole.codes, whole.code_base) == (BY_ID, "collection")
    settings = PublishSettings(code_base="candidates")
    union = labelled_benchmark(database, labels_of("c", "s"), settings)
    found = [code for code in BY_ID if code != CODES[3]]
    assert (union.codes, union.code_base) == (found, "candidates")
    assert union.labels == whole.labels


def test_a_collection_without_candidates_keeps_all_its_codes(database: Database) -> None:
    settings = PublishSettings(code_base="candidates")
    whole = labelled_benchmark(database, labels_of("d"), settings)
    assert (whole.codes, whole.code_base) == (BY_ID, "collection")


def test_the_queries_are_split_when_asked_for(database: Database) -> None:
    settings = PublishSettings(split="8:1:1")
    whole = labelled_benchmark(database, labels_of("c"), settings)
    assert with_split(whole, PublishSettings()) is whole
    benchmark = with_split(whole, settings)
    assert benchmark.splits == {query.query_id: "test" for query in QUERIES}
