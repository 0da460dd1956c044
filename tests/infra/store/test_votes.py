"""Laws of votes from outside: each fault is told by its line, and one spoils all.

Covers `infra.store.votes`.
"""

import math
from pathlib import Path
from typing import Any

import pytest

from infra.collected import Collected
from infra.errors import SourceError
from infra.records import GivenVote, Label, Pair, SourceInfo
from infra.store import Database, annotations, corpus
from infra.store.votes import load_votes, record_votes
from tests.tasks.stages.generate.world import CODES, QUERIES, ROUNDS, judged_store, judgement

ORIGIN = "people:sheet"
PAIR = {"query_id": QUERIES[0].query_id, "code_id": CODES[0].code_id}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return judged_store(tmp_path, rounds=3)[0]


def vote(**fields: Any) -> GivenVote:
    row = {**PAIR, "annotator": "first", "origin": ORIGIN, "relevance": 1.0}
    return GivenVote.model_validate({**row, **fields})


def record(database: Database, *given: GivenVote) -> None:
    with database.transaction() as tx:
        record_votes(tx, "c", given)


def test_votes_come_back_and_a_later_one_replaces(database: Database) -> None:
    given = [
        vote(relevance=2.5, note="sure"),
        vote(annotator="second", relevance=None),
        vote(code_id=CODES[1].code_id, relevance=0.0),
    ]
    record(database, *given)
    assert load_votes(database, ORIGIN) == given
    later = vote(relevance=0.0, note="on second thought")
    record(database, later)
    assert load_votes(database, ORIGIN) == [*given[1:], later]


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"query_id": "q0"}, "the store holds no query q0"),
        ({"code_id": "c0"}, "the store holds no code c0"),
        ({"relevance": -1.0}, "relevance -1.0: it must be a number from 0"),
        ({"relevance": math.inf}, "relevance inf: it must be"),
        ({"relevance": math.nan}, "relevance nan: it must be"),
        ({"relevance": 0.0}, "'first' votes twice on query"),
    ],
)
def test_a_fault_is_told_by_its_line_and_nothing_is_stored(
    database: Database, bad: dict[str, object], told: str
) -> None:
    given = [vote(place="a.csv:2"), vote(**bad, place="a.csv:3"), vote(query_id="q", place="a:4")]
    with pytest.raises(SourceError) as error:
        record(database, *given)
    first, second = str(error.value).split("\n")
    assert first.startswith(f"a.csv:3: {told}")
    assert second == "a:4: the store holds no query q"
    assert load_votes(database, ORIGIN) == []


def test_a_collection_that_is_read_again_keeps_what_people_said_of_it(database: Database) -> None:
    info = SourceInfo(name="made", licence="MIT", revision="1", location="here")
    label = Label.model_validate({**PAIR, "origin": "people:source", "relevance": 1.0})
    record(database, vote())
    for labels in ((label,), ()):
        content = Collected(info=info, queries=QUERIES, codes=CODES, labels=labels)
        corpus.replace_collections(database, "print", {"c": content}, annotated="c")
        assert corpus.label_origins(database, "c") == [item.origin for item in labels]
        assert load_votes(database, ORIGIN) == [vote()]


def test_agents_votes_are_the_first_replicates_or_on_gold_questions(database: Database) -> None:
    gold = Pair(query=QUERIES[2], code=CODES[0])
    known = vote(query_id=gold.query.query_id, annotator="", kind="gold", origin="gold:test")
    annotations.record_pairs(database, [gold], [known])
    for recipe in ROUNDS:
        annotations.add_annotations(database, [judgement(*gold.key, recipe_id=recipe)])
    keys = [gold.key, Pair(query=QUERIES[0], code=CODES[0]).key]
    found = [
        [(item.replicate, item.kind) for item in annotations.load_annotations(database, it, keys)]
        for it in ROUNDS
    ]
    assert found == [
        [(1, "gold"), (1, "first")],
        [(2, "gold"), (2, "replicate")],
        [(3, "gold"), (3, "replicate")],
    ]
