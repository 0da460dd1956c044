"""Laws of the share of CoSQA's own pairs that do not match."""

from pathlib import Path

import pytest

from infra.collected import Collected
from infra.ids import RecipeId, SearchId
from infra.records import Annotation, Candidate, Code, Label, Query, SourceInfo
from infra.store import Database, annotations, candidates, corpus
from tasks.runtime.references import CollectedSource, SearchReference
from tasks.sources.cosqa import PAIR_LABELS, RETRIEVAL_LABELS
from tasks.stages.study.evidence import _mismatches
from tasks.studies import Mean
from tests.fakes.stores import empty_store, labels_by

SEARCH, RECIPE = SearchId("s"), RecipeId("r")
LABELS = labels_by(SEARCH, [RECIPE], collection="cosqa")
INFO = SourceInfo(name="cosqa", licence="C-UDA", revision="1", location="here")
QUERIES = tuple(Query.of(f"query {number}") for number in range(4))
CODES = tuple(Code.of(f"def f{number}(x):\n    return x") for number in range(4))


def labelled(origin: str, *relevances: float) -> Collected:
    """Return a collection whose queries are each paired with the code of their place."""
    pairs = zip(QUERIES, CODES, relevances, strict=False)
    labels = tuple(
        Label(query_id=q.query_id, code_id=c.code_id, origin=origin, relevance=relevance)
        for q, c, relevance in pairs
    )
    return Collected(info=INFO, queries=QUERIES, codes=CODES, labels=labels)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return empty_store(tmp_path)


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
