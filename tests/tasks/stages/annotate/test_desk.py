"""How many pairs a judge works on at once, and what it does with those in reserve."""

import asyncio
import math
from collections.abc import Sequence

import pytest

from infra.errors import (
    BudgetExhaustedError,
    JudgingError,
    ModelRefusedError,
    ModelUnavailableError,
)
from infra.ids import RecipeId
from infra.records import Annotation, Code, Pair, Query
from tasks.runtime.pair_queue import Work
from tasks.stages.annotate.desk import Desk, FailureCounter

PAIRS = [Pair(query=Query.of(f"question {number}"), code=Code.of("a")) for number in range(6)]


def annotation(pair: Pair) -> Annotation:
    return Annotation(
        query_id=pair.query.query_id, code_id=pair.code.code_id, recipe_id=RecipeId("r"),
        status="labelled", label=1, path="read_alone",
    )  # fmt: skip


class Agents:
    """Agents that finish a pair when they are told to, and note which ones they judge."""

    def __init__(self) -> None:
        self.judging: list[Pair] = []
        self.begun = 0
        self._ends: dict[int, asyncio.Future[Exception | None]] = {}

    async def annotate(self, pair: Pair) -> Annotation:
        """Judge a pair until it is ended."""
        self.judging.append(pair)
        self.begun += 1
        end = self._ends[id(pair)] = asyncio.get_running_loop().create_future()
        error = await end
        self.judging.remove(pair)
        if isinstance(error, ModelUnavailableError | KeyError):
            path = "internal_error" if isinstance(error, KeyError) else "model_unavailable"
            failed = {"status": "failed", "label": None, "path": path, "reason": str(error)}
            return annotation(pair).model_copy(update=failed)
        if error:
            raise error
        return annotation(pair)

    async def end(self, pair: Pair, error: Exception | None = None) -> None:
        """Let a pair end."""
        self._ends[id(pair)].set_result(error)
        await asyncio.sleep(0.01)


class Answers:
    """A source that gives one answer after the other, and the last one again and again."""

    def __init__(self, *answers: Work) -> None:
        self.finished: list[Annotation] = []
        self.left = ""
        self.answers = list(answers)

    async def exchange(self, finished: Sequence[Annotation], *, wants: bool) -> Work:
        """Keep what is finished; return the next answer."""
        self.finished += finished
        answer = self.answers.pop(0)
        self.answers = self.answers or [answer._replace(pairs=[])]
        return answer

    async def leave(self, why: str) -> None:
        """Note why the judge leaves."""
        self.left = why


async def at_work(source: Answers, allowed: int = 10) -> tuple[Agents, asyncio.Task[int]]:
    agents = Agents()
    desk = Desk(agents.annotate, source, FailureCounter(allowed), math.inf)
    running = asyncio.create_task(desk.work(1.0))
    await asyncio.sleep(0.05)
    return agents, running


async def test_a_pair_in_reserve_begins_as_another_ends_without_a_question() -> None:
    source = Answers(Work(PAIRS[:4], 2, is_ended=True))
    agents, running = await at_work(source)
    source.answers = [Work([], 2, is_ended=True)]
    assert agents.judging == PAIRS[:2]
    await agents.end(PAIRS[0])
    assert agents.judging == PAIRS[1:3]
    for pair in PAIRS[1:4]:
        await agents.end(pair)
    assert await running == 0
    assert len(source.finished) == 4


async def test_fewer_places_and_a_pause_hold_the_reserve_until_there_is_room() -> None:
    source = Answers(Work(PAIRS[:4], 2, is_ended=False), Work([], 0, is_ended=False))
    agents, running = await at_work(source)
    await asyncio.sleep(0.3)  # it has been told of the pause
    await agents.end(PAIRS[0])
    await agents.end(PAIRS[1])
    await asyncio.sleep(0.1)
    assert agents.judging == []
    assert not running.done()
    source.answers = [Work([], 1, is_ended=True)]
    await asyncio.sleep(0.3)
    assert agents.judging == PAIRS[2:3]
    await agents.end(PAIRS[2])
    await agents.end(PAIRS[3])
    assert await running == 0


async def test_a_closed_queue_ends_the_judge_with_its_reserve_unjudged() -> None:
    source = Answers(Work(PAIRS[:3], 1, is_ended=False), Work([], 0, is_ended=True))
    agents, running = await at_work(source)
    await asyncio.sleep(0.3)
    await agents.end(PAIRS[0])
    assert await running == 0
    assert (agents.begun, len(source.finished)) == (1, 1)


@pytest.mark.parametrize("error", [ModelRefusedError("no"), BudgetExhaustedError("spent")])
async def test_after_an_error_nothing_of_the_reserve_begins(error: Exception) -> None:
    source = Answers(Work(PAIRS[:5], 2, is_ended=False))
    agents, running = await at_work(source)
    await agents.end(PAIRS[0], error)
    source.answers = [Work([], 2, is_ended=True)]
    await agents.end(PAIRS[1])
    with pytest.raises(type(error)):
        await running
    assert (agents.begun, len(source.finished)) == (2, 1)


AWAY = ModelUnavailableError("no connection")


async def test_pairs_that_failed_while_the_model_was_away_are_judged_again_not_stored() -> None:
    source = Answers(Work(PAIRS, 6, is_ended=False))
    agents, running = await at_work(source, allowed=3)
    await agents.end(PAIRS[0])
    for pair in PAIRS[1:4]:
        await agents.end(pair, AWAY)
    for pair in PAIRS[4:]:
        await agents.end(pair)
    with pytest.raises(ModelUnavailableError, match="3 pairs failed in a row"):
        await running
    assert [item.query_id for item in source.finished if item.status == "failed"] == []
    assert "no connection" in source.left


async def test_a_pair_that_fails_between_others_is_judged_once_more() -> None:
    source = Answers(Work(PAIRS[:3], 3, is_ended=True))
    agents, running = await at_work(source, allowed=3)
    await agents.end(PAIRS[0], AWAY)
    await agents.end(PAIRS[1])
    await agents.end(PAIRS[2], AWAY)
    await asyncio.sleep(0.3)  # nothing else is left
    await agents.end(PAIRS[0])
    await agents.end(PAIRS[2], AWAY)
    assert await running == 1
    assert [item.status for item in source.finished] == ["labelled", "labelled", "failed"]


async def test_pairs_that_failed_before_the_last_success_are_given_back_too() -> None:
    source = Answers(Work(PAIRS, 6, is_ended=False))
    agents, running = await at_work(source, allowed=3)
    await agents.end(PAIRS[0], AWAY)
    await agents.end(PAIRS[1])  # it was on the wire when the model went away
    for pair in PAIRS[2:]:
        await agents.end(pair, AWAY)
    with pytest.raises(ModelUnavailableError):
        await running
    assert [item.status for item in source.finished] == ["labelled"]
    assert agents.begun == len(PAIRS)


async def test_pairs_that_fail_by_an_error_of_the_program_are_stored_and_end_the_judge() -> None:
    source = Answers(Work(PAIRS[:3], 3, is_ended=False))
    agents, running = await at_work(source, allowed=2)
    await agents.end(PAIRS[0], KeyError("x"))
    await agents.end(PAIRS[1], KeyError("x"))
    await agents.end(PAIRS[2])
    with pytest.raises(JudgingError):
        await running
    assert [item.status for item in source.finished].count("failed") == 2
    assert source.left == ""


async def test_one_place_alone_is_not_kept_by_a_failed_pair() -> None:
    source = Answers(Work(PAIRS[:1], 1, is_ended=False), Work([], 1, is_ended=False))
    agents, running = await at_work(source)
    await agents.end(PAIRS[0], AWAY)
    await asyncio.sleep(0.3)
    source.answers = [Work([], 1, is_ended=False)]
    await asyncio.sleep(0.3)
    await agents.end(PAIRS[0], AWAY)
    await asyncio.sleep(0.3)
    assert [item.status for item in source.finished] == ["failed"]
    source.answers = [Work([], 1, is_ended=True)]
    assert await running == 1
