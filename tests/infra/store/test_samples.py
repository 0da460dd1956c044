"""Laws of samples: what was drawn comes back, nobody reads others' labels too early; what they say.

Covers `infra.store.samples`.
"""

from pathlib import Path
from typing import Any

import pytest

from infra.errors import SourceError
from infra.records import Code, ExecutionResult, GivenVote
from infra.store import Database, samples
from infra.store.samples import Sample, SampleItem, final_labels, people_figures
from infra.store.votes import load_votes, record_votes
from tests.tasks.stages.generate.world import CODES, QUERIES, judged_store

ITEMS = tuple(
    SampleItem(
        query_id=QUERIES[number].query_id,
        code_id=CODES[0].code_id,
        position=number + 1,
    )
    for number in range(3)
)
SAMPLE = Sample(collection="c", seed=3, body={"drawn": "pairs", "population": 6}, items=ITEMS)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database = judged_store(tmp_path)[0]
    samples.add_sample(database, SAMPLE)
    return database


def vote(position: int, annotator: str, **fields: Any) -> GivenVote:
    item = ITEMS[position - 1]
    row = {"query_id": item.query_id, "code_id": item.code_id, "relevance": 1.0}
    return GivenVote.model_validate(
        {**row, "annotator": annotator, "origin": SAMPLE.origin, **fields}
    )


def say(database: Database, *votes: GivenVote) -> None:
    with database.transaction() as tx:
        record_votes(tx, SAMPLE.collection, votes)


def test_a_sample_comes_back_and_is_stored_once(database: Database) -> None:
    samples.add_sample(database, SAMPLE)
    assert samples.load_sample(database, SAMPLE.sample_id) == SAMPLE
    [listed] = samples.samples_in(database)
    assert (listed.sample_id, listed.collection, listed.items) == (SAMPLE.sample_id, "c", 3)
    with pytest.raises(SourceError, match=rf"holds no sample 's0'; it holds {SAMPLE.sample_id}"):
        samples.load_sample(database, "s0")


def test_an_id_changes_with_the_items_and_with_how_they_were_drawn() -> None:
    assert SAMPLE.model_copy().sample_id == SAMPLE.sample_id
    changes: list[dict[str, object]] = [
        {"seed": 4},
        {"scale": "graded"},
        {"items": ITEMS[:2]},
        {"body": {"drawn": "queries"}},
    ]
    for change in changes:
        assert SAMPLE.model_copy(update=change).sample_id != SAMPLE.sample_id


def test_each_annotator_sees_the_given_items_in_an_own_order(database: Database) -> None:
    samples.assign(database, SAMPLE, "ann")
    orders = set()
    for name in ("ann", "bob", "cam", "dan", "eve"):
        samples.assign(database, SAMPLE, name)
        shown = samples.items_for(database, SAMPLE, name)
        assert {item.query.text for item in shown} == {query.text for query in QUERIES}
        assert {item.codes for item in shown} == {
            (Code(code_id=CODES[0].code_id, text=CODES[0].text),)
        }
        orders.add(tuple(item.position for item in shown))
    assert len(orders) > 1
    samples.assign(database, SAMPLE, "third", [2])
    assert [item.position for item in samples.items_for(database, SAMPLE, "third")] == [2]
    samples.assign(database, SAMPLE, "third", [3])
    assert {item.position for item in samples.items_for(database, SAMPLE, "third")} == {2, 3}


def test_a_preference_shows_the_rival_first_where_it_was_swapped(database: Database) -> None:
    fields = {"rival_id": CODES[1].code_id, "swapped": True}
    items = (
        ITEMS[0].model_copy(update=fields),
        ITEMS[1].model_copy(update={**fields, "swapped": False}),
    )
    sample = Sample(collection="", kind="preference", items=items)
    samples.add_sample(database, sample, [CODES[1]])
    samples.assign(database, sample, "ann")
    shown = {item.position: item for item in samples.items_for(database, sample, "ann")}
    assert [code.text for code in shown[1].codes] == [CODES[1].text, CODES[0].text]
    assert [code.text for code in shown[2].codes] == [CODES[0].text, CODES[1].text]


def test_labels_are_readable_once_their_annotator_is_done(database: Database) -> None:
    samples.assign(database, SAMPLE, "ann")
    samples.assign(database, SAMPLE, "bob")
    samples.assign(database, SAMPLE, "third", [2])
    say(database, *(vote(number, "ann") for number in (1, 2, 3)), vote(1, "bob"), vote(2, "bob"))

    def readable() -> set[str]:
        return {item.annotator for item in samples.readable_votes(database, SAMPLE)}

    assert readable() == {"ann"}
    done = {
        one.annotator: (one.blind, one.is_done)
        for one in samples.progress(database, SAMPLE.sample_id)
    }
    assert done == {"ann": (3, True), "bob": (2, False), "third": (0, False)}
    say(database, vote(3, "bob", relevance=None))
    say(database, vote(1, "third"))  # which it was not given
    assert readable() == {"ann", "bob"}
    say(database, vote(2, "third"), vote(2, "ann", phase="revised", relevance=0.0))
    assert readable() == {"ann", "bob", "third"}
    assert [(one.blind, one.revised) for one in samples.progress(database, SAMPLE.sample_id)] == [
        (3, 1),
        (3, 0),
        (1, 0),
    ]


def test_what_was_said_blind_stays_beside_its_revision_and_is_not_changed(
    database: Database,
) -> None:
    ran = ExecutionResult(outcome="passed", asserts_executed=2)
    blind = vote(
        1, "ann", notes=("quality", "ambiguity"), minutes=2.5, program="assert f(1)", execution=ran
    )
    revised = vote(1, "ann", phase="revised", relevance=0.0)
    with pytest.raises(SourceError, match="'ann' revises a label that was not given blind"):
        say(database, revised)
    say(database, blind)
    say(database, revised)
    own = load_votes(database, SAMPLE.origin)
    assert own == [blind, revised]
    say(database, blind.model_copy(update={"note": "typed again"}))
    with pytest.raises(SourceError, match="'ann' has seen the evidence: the blind label stands"):
        say(database, blind.model_copy(update={"relevance": 0.0}))
    say(database, revised.model_copy(update={"relevance": None}))
    own = load_votes(database, SAMPLE.origin)
    assert {(item.phase, item.relevance) for item in own} == {("blind", 1.0), ("revised", None)}


PAIRS = Sample(collection="c", scale="graded", body={"drawn": "pairs"}, items=ITEMS)
PREFERENCE = Sample(
    collection="c",
    kind="preference",
    items=[item.model_copy(update={"rival_id": CODES[1].code_id}) for item in ITEMS],
)


@pytest.fixture
def polled(tmp_path: Path) -> Database:
    polled = judged_store(tmp_path)[0]
    for sample in (PAIRS, PREFERENCE):
        samples.add_sample(polled, sample)
    return polled


def poll(
    polled: Database, sample: Sample, annotator: str, *relevances: float | None, **fields: Any
) -> None:
    """Let an annotator label the first items of a sample."""
    votes = [
        GivenVote(
            query_id=item.query_id, code_id=item.code_id, annotator=annotator,
            origin=sample.origin, relevance=relevance, **fields,
        )
        for item, relevance in zip(sample.items, relevances, strict=False)
    ]  # fmt: skip
    with polled.transaction() as tx:
        record_votes(tx, sample.collection, votes)


def labels(polled: Database) -> dict[str, tuple[float | None, int]]:
    return {item.query_id: (item.relevance, item.people) for item in final_labels(polled)}


def test_the_majority_decides_and_gives_its_mean_grade(polled: Database) -> None:
    poll(polled, PAIRS, "a", 3, 0, 1)
    poll(polled, PAIRS, "b", 2, 1, 0)
    poll(polled, PAIRS, "c", 0, 0, None)
    assert labels(polled) == {
        ITEMS[0].query_id: (2.5, 3), ITEMS[1].query_id: (0, 3), ITEMS[2].query_id: (None, 2),
    }  # fmt: skip
    assert {item.drawn for item in final_labels(polled)} == {"pairs"}


def test_what_a_person_says_after_the_evidence_stands(polled: Database) -> None:
    poll(polled, PAIRS, "a", 0, 2)
    poll(polled, PAIRS, "a", 3, None, phase="revised")
    assert labels(polled) == {ITEMS[0].query_id: (3, 1)}


def test_preferences_are_no_labels_and_are_counted(polled: Database) -> None:
    poll(polled, PREFERENCE, "a", 1, 0, 1)
    poll(polled, PREFERENCE, "b", 1, None)
    assert labels(polled) == {}
    found = people_figures(polled)
    assert (found.preferences, found.preferred) == (4, 3)
    assert (found.timed_with_program, found.minutes_with_program) == (0, None)


def test_minutes_are_those_of_blind_labels_by_whether_a_program_was_written(
    polled: Database,
) -> None:
    poll(polled, PAIRS, "a", 1, 0, minutes=8.0)
    poll(polled, PAIRS, "b", 1, minutes=34.0, program="assert True")
    poll(polled, PAIRS, "b", 0, minutes=100.0, phase="revised")
    found = people_figures(polled)
    assert (found.timed_without_program, found.minutes_without_program) == (2, 8.0)
    assert (found.timed_with_program, found.minutes_with_program) == (1, 34.0)
