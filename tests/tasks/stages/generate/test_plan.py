"""Laws of which queries have no match, and of what becomes of them."""

from pathlib import Path

import pytest

from infra.records import GivenVote
from infra.store import generated
from tasks.stages.generate.plan import GenerationPlan, plan_generation, queries_without_match
from tests.tasks.stages.generate.world import (
    QUERIES,
    ROUNDS,
    answer,
    judged_store,
    label,
    said,
    settings_of,
)


def test_a_query_has_no_match_once_all_its_candidates_are_finished_and_none_is_1(
    tmp_path: Path,
) -> None:
    database, source = judged_store(tmp_path)
    assert queries_without_match(database, source) == [QUERIES[1].query_id, QUERIES[2].query_id]
    label(database, 1, 0, None, ROUNDS[0], status="failed")
    assert queries_without_match(database, source) == [QUERIES[2].query_id], "it may match yet"
    label(database, 1, 0, None, ROUNDS[0])
    assert len(queries_without_match(database, source)) == 2, "undecided is finished"


def test_with_rounds_the_majority_decides(tmp_path: Path) -> None:
    database, source = judged_store(tmp_path, rounds=3)
    label(database, 1, 0, 1, ROUNDS[1])
    assert QUERIES[1].query_id in queries_without_match(database, source)
    label(database, 1, 0, 1, ROUNDS[2])
    assert QUERIES[1].query_id not in queries_without_match(database, source)
    label(database, 2, 0, None, ROUNDS[2], status="failed")
    assert queries_without_match(database, source) == [QUERIES[2].query_id], "two rounds decide"
    label(database, 2, 0, None, ROUNDS[1], status="failed")
    assert queries_without_match(database, source) == []


def refused(ordinal: int, **fields: object) -> generated.GeneratedCode:
    return answer(1, ordinal, status="refused", **fields)


Sayings = list[dict[str, list[GivenVote]]]
NO = said(answer(1), annotator="first", confirmed=False)
YES = said(answer(1), annotator="second", confirmed=True)


@pytest.mark.parametrize(
    ("answers", "sayings", "state"),
    [
        ([], [], "to_write"),
        ([answer(1)], [], "waiting"),
        ([answer(1)], [YES], "confirmed"),
        ([answer(1)], [YES, NO], "to_write"),
        ([refused(0)], [], "to_write"),
        ([refused(0), refused(1)], [], "given_up"),
        ([refused(0), refused(1, model="another")], [], "to_write"),
        ([refused(0), answer(1, 1)], [], "waiting"),
        ([answer(1), refused(1)], [NO], "to_write"),
        ([answer(1), refused(1), refused(2)], [NO], "given_up"),
    ],
)
def test_a_query_is_counted_by_its_last_answers_and_what_people_say(
    tmp_path: Path,
    answers: list[generated.GeneratedCode],
    sayings: Sayings,
    state: str,
) -> None:
    database, source = judged_store(tmp_path)
    generated.add_answers(database, [(item, ()) for item in answers])
    for votes in sayings:
        generated.add_answers(database, [], votes)
    settings = settings_of(tmp_path)
    plan = plan_generation(database, source, settings.llm.model, settings.generation)
    expected = {"without_match": 2, "to_write": 1, state: 1 + (state == "to_write")}
    assert plan == GenerationPlan(collection="c", **expected)
