"""Laws of what people's votes come to.

Covers `infra.store.samples`.
"""

from pathlib import Path
from typing import Any

import pytest

from infra.records import GivenVote
from infra.store import Database, samples
from infra.store.samples import Sample, SampleItem, final_labels, people_figures
from infra.store.votes import record_votes
from tests.tasks.stages.generate.world import CODES, QUERIES, judged_store

ITEMS = tuple(
    SampleItem(
        query_id=QUERIES[number].query_id, code_id=CODES[0].code_id, position=number + 1,
    )
    for number in range(3)
)  # fmt: skip
PAIRS = Sample(collection="c", scale="graded", body={"drawn": "pairs"}, items=ITEMS)
PREFERENCE = Sample(
    collection="c",
    kind="preference",
    items=[item.model_copy(update={"rival_id": CODES[1].code_id}) for item in ITEMS],
)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database = judged_store(tmp_path)[0]
    for sample in (PAIRS, PREFERENCE):
        samples.add_sample(database, sample)
    return database


def say(
    database: Database, sample: Sample, annotator: str, *relevances: float | None, **fields: Any
) -> None:
    """Let an annotator label the first items of a sample."""
    votes = [
        GivenVote(
            query_id=item.query_id, code_id=item.code_id, annotator=annotator,
            origin=sample.origin, relevance=relevance, **fields,
        )
        for item, relevance in zip(sample.items, relevances, strict=False)
    ]  # fmt: skip
    with database.transaction() as tx:
        record_votes(tx, sample.collection, votes)


def labels(database: Database) -> dict[str, tuple[float | None, int]]:
    return {item.query_id: (item.relevance, item.people) for item in final_labels(database)}


def test_the_majority_decides_and_gives_its_mean_grade(database: Database) -> None:
    say(database, PAIRS, "a", 3, 0, 1)
    say(database, PAIRS, "b", 2, 1, 0)
    say(database, PAIRS, "c", 0, 0, None)
    assert labels(database) == {
        ITEMS[0].query_id: (2.5, 3), ITEMS[1].query_id: (0, 3), ITEMS[2].query_id: (None, 2),
    }  # fmt: skip
    assert {item.drawn for item in final_labels(database)} == {"pairs"}


def test_what_a_person_says_after_the_evidence_stands(database: Database) -> None:
    say(database, PAIRS, "a", 0, 2)
    say(database, PAIRS, "a", 3, None, phase="revised")
    assert labels(database) == {ITEMS[0].query_id: (3, 1)}


def test_preferences_are_no_labels_and_are_counted(database: Database) -> None:
    say(database, PREFERENCE, "a", 1, 0, 1)
    say(database, PREFERENCE, "b", 1, None)
    assert labels(database) == {}
    found = people_figures(database)
    assert (found.preferences, found.preferred) == (4, 3)
    assert (found.timed_with_program, found.minutes_with_program) == (0, None)


def test_minutes_are_those_of_blind_labels_by_whether_a_program_was_written(
    database: Database,
) -> None:
    say(database, PAIRS, "a", 1, 0, minutes=8.0)
    say(database, PAIRS, "b", 1, minutes=34.0, program="assert True")
    say(database, PAIRS, "b", 0, minutes=100.0, phase="revised")
    found = people_figures(database)
    assert (found.timed_without_program, found.minutes_without_program) == (2, 8.0)
    assert (found.timed_with_program, found.minutes_with_program) == (1, 34.0)
