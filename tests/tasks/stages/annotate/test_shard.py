"""Laws of a shard: what it judges at once, what ends it, and what becomes of pairs that fail."""

import asyncio
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from agents import journal_ledger
from infra.errors import (
    BudgetExhaustedError,
    JudgingError,
    ModelRefusedError,
    ModelUnavailableError,
    WorkerLostError,
)
from infra.identity import RecipeId
from infra.records import Annotation, Code, ExecutionResult, Pair, Query
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from sandbox.backends import backends
from tasks.runtime.references import RecipeReference
from tasks.stages.annotate import shard
from tasks.stages.annotate.shard import Judged, ShardRunner, SlotLease, judge_pairs
from tests.agents.conftest import rule
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.fakes.sandbox import PASSED, FakeSandbox
from tests.waiting import settled

RECIPE = RecipeReference(recipe_id=RecipeId("r"), model="openai/scripted")
PAIRS = [
    Pair(query=Query.of(f"question {number}"), code=Code.of(f"def f():\n    return {number}"))
    for number in range(5)
]
POISON = PAIRS[2]


class _UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class _Strict(BaseModel):
    number: int


def _too_deep() -> None:
    sys.setrecursionlimit(sys.getrecursionlimit())
    _too_deep()


FAULTS: dict[str, Callable[[], object]] = {
    "ValueError": lambda: int("1 two"),
    "TypeError": lambda: len(3),  # type: ignore[arg-type]
    "RecursionError": _too_deep,
    "UnicodeEncodeError": lambda: bytes("\ud800", "utf-8"),
    "OverflowError": lambda: float(10**400),
    "ValidationError": lambda: _Strict.model_validate({"number": "x"}),
    "KeyError": lambda: FAULTS["missing"],
    "OSError": lambda: Path("/").write_text("x"),
    "StopIteration": lambda: next(iter(())),
    "AssertionError": lambda: _raise(AssertionError("unreachable")),
    "ExceptionGroup": lambda: _raise(ExceptionGroup("several", [ValueError("a")])),
    "Unprintable": lambda: _raise(_UnprintableError()),
    "surrogates": lambda: _raise(ValueError("\udc80" * 3)),
    "long": lambda: _raise(ValueError("x" * 100_000)),
}


def _raise(error: Exception) -> None:
    raise error


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    poison = {"reply": {"reading": "r", "program": "poison"}}
    script = [
        rule("screener", {"reply": {"reason": "r", "verdict": "unclear"}}),
        rule("writer", poison, query=POISON.query.text),
        rule("writer", {"reply": {"reading": "r", "program": "assert True"}}),
        rule("arbiter", {"reply": {"reason": "r", "verdict": "answers"}}),
    ]
    with ScriptedServer(script) as served:
        yield served


@pytest.fixture
def poisoned() -> Iterator[Callable[[Callable[[], object]], str]]:
    """Register a backend whose boxes fail on the poison."""

    def register(fault: Callable[[], object]) -> str:
        def run(program: str, installed: frozenset[str]) -> ExecutionResult:
            if program == "poison":
                fault()
            return PASSED

        backends.register("poisoned")(lambda settings: FakeSandbox(run))
        return "poisoned"

    yield register
    backends._entries.pop("poisoned", None)


def settings(server: ScriptedServer, folder: Path, backend: str, stop_after: int = 10) -> Settings:
    return Settings(
        store=StoreSettings(folder=folder),
        llm=LanguageModelSettings(
            model="openai/scripted", base_url=server.base_url, api_key=SecretStr(KEY)
        ),
        sandbox=SandboxSettings(backend=backend),
        annotation=AnnotationSettings(configuration="executor", stop_after_failures=stop_after),
    )


async def judged_by(chosen: Settings, pairs: Sequence[Pair], places: int = 1) -> Judged:
    """Return pairs as they are judged in this process."""
    ledger = journal_ledger(chosen.store, chosen.llm)
    return await judge_pairs(pairs, chosen.committee, RECIPE, ledger, asyncio.Semaphore(places))


@pytest.mark.parametrize("fault", FAULTS)
async def test_an_exception_makes_its_pair_failed_and_the_others_go_on(
    server: ScriptedServer,
    tmp_path: Path,
    poisoned: Callable[[Callable[[], object]], str],
    fault: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    chosen = settings(server, tmp_path, poisoned(FAULTS[fault]))
    judged = await judged_by(chosen, PAIRS)
    assert judged.error is None
    assert [item.key for item in judged.annotations] == [pair.key for pair in PAIRS]
    by_key = {item.key: item for item in judged.annotations}
    bad = by_key.pop(POISON.key)
    assert (bad.status, bad.path, bad.recipe_id) == ("failed", "internal_error", "r")
    assert {item.status for item in by_key.values()} == {"labelled"}
    assert len(bad.reason.encode()) <= 5_000
    if fault.endswith(("Error", "Group", "Iteration")) and fault != "OSError":
        assert fault in bad.reason or "RuntimeError" in bad.reason
    assert "Traceback" in caplog.text
    assert POISON.query.query_id in caplog.text


async def test_failures_of_this_kind_in_a_row_end_the_shard(
    server: ScriptedServer, tmp_path: Path, poisoned: Callable[[Callable[[], object]], str]
) -> None:
    same = [
        Pair(query=POISON.query, code=Code.of(f"def g():\n    return {number}"))
        for number in range(5)
    ]
    chosen = settings(server, tmp_path, poisoned(FAULTS["KeyError"]), stop_after=3)
    judged = await judged_by(chosen, same)
    assert isinstance(judged.error, JudgingError)
    assert re.search(r"3 pairs failed in a row.*KeyError", str(judged.error))
    assert len(judged.annotations) == 3


@pytest.mark.parametrize("error", [ModelRefusedError, BudgetExhaustedError])
async def test_an_error_that_every_pair_would_meet_ends_the_shard_which_gives_what_it_has(
    server: ScriptedServer,
    tmp_path: Path,
    poisoned: Callable[[Callable[[], object]], str],
    error: type[Exception],
) -> None:
    chosen = settings(server, tmp_path, poisoned(lambda: _raise(error("stop"))))
    judged = await judged_by(chosen, PAIRS)
    assert isinstance(judged.error, error)
    assert len(judged.annotations) == 2


async def test_requests_in_flight_at_an_error_are_awaited_and_what_they_give_is_kept(
    tmp_path: Path, poisoned: Callable[[Callable[[], object]], str]
) -> None:
    clear = {"reply": {"reason": "r", "verdict": "clear_match"}, "delay_s": 1.5}
    script = [
        rule("screener", {"reply": {"reason": "r", "verdict": "unclear"}}, query=POISON.query.text),
        rule("writer", {"reply": {"reading": "r", "program": "poison"}}),
        rule("screener", clear),
    ]
    with ScriptedServer(script) as server:
        chosen = settings(server, tmp_path, poisoned(lambda: _raise(ModelRefusedError("stop"))))
        judged = await judged_by(chosen, PAIRS, len(PAIRS))
    assert isinstance(judged.error, ModelRefusedError)
    others = [pair.key for pair in PAIRS if pair is not POISON]
    assert sorted(item.key for item in judged.annotations if item.label) == sorted(others)


AWAY = ModelUnavailableError("no connection")


class Agents:
    """Agents that finish a pair when they are told to, and note which ones they judge.

    Args:
        pairs: What they are given.
        places: How many at once.
        allowed: Failures in a row.
    """

    def __init__(self, pairs: Sequence[Pair], places: int, allowed: int = 10) -> None:
        self.judging: list[Pair] = []
        self.begun = 0
        self._ends: dict[int, asyncio.Future[Exception | None]] = {}
        self._has_begun: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)
        self._judging = ShardRunner(self._annotate, asyncio.Semaphore(places), allowed)
        self.shard = asyncio.create_task(self._judging.judge(pairs, 1.0))

    async def _annotate(self, pair: Pair) -> Annotation:
        self.judging.append(pair)
        self.begun += 1
        end = self._ends[id(pair)] = asyncio.get_running_loop().create_future()
        self._has_begun[id(pair)].set()
        error = await end
        self.judging.remove(pair)
        if error and not isinstance(error, ModelUnavailableError | KeyError):
            raise error
        failed = {
            "status": "failed", "label": None, "reason": str(error),
            "path": "internal_error" if isinstance(error, KeyError) else "model_unavailable",
        }  # fmt: skip
        labelled = Annotation(
            query_id=pair.query.query_id, code_id=pair.code.code_id, recipe_id=RecipeId("r"),
            status="labelled", label=1, path="read_alone",
        )  # fmt: skip
        return labelled.model_copy(update=failed) if error else labelled

    async def end(self, pair: Pair, error: Exception | None = None) -> None:
        """Let a pair end, once its judging has begun, and the shard go on."""
        await asyncio.wait_for(self._has_begun[id(pair)].wait(), 60)
        self._has_begun[id(pair)].clear()
        self._ends[id(pair)].set_result(error)
        await settled()

    async def statuses(self) -> list[str]:
        """Return the statuses of what the shard gives back."""
        return [item.status for item in (await self.shard).annotations]

    async def error(self) -> Exception | None:
        """Return what ended the shard early."""
        return (await self.shard).error


async def test_as_many_pairs_are_judged_as_there_are_places() -> None:
    agents = Agents(PAIRS[:4], places=2)
    await settled()
    assert agents.judging == PAIRS[:2]
    await agents.end(PAIRS[0])
    assert agents.judging == PAIRS[1:3]
    for pair in PAIRS[1:4]:
        await agents.end(pair)
    assert await agents.statuses() == ["labelled"] * 4


@pytest.mark.parametrize("error", [ModelRefusedError("no"), BudgetExhaustedError("spent")])
async def test_after_an_error_no_pair_begins(error: Exception) -> None:
    agents = Agents(PAIRS, places=2)
    await agents.end(PAIRS[0], error)
    await agents.end(PAIRS[1])
    assert await agents.statuses() == ["labelled"]
    assert (agents.begun, await agents.error()) == (2, error)


async def test_pairs_that_failed_while_the_model_was_away_are_no_annotations() -> None:
    agents = Agents(PAIRS, places=5, allowed=3)
    await agents.end(PAIRS[0])
    for pair in PAIRS[1:4]:
        await agents.end(pair, AWAY)
    await agents.end(PAIRS[4])
    assert await agents.statuses() == ["labelled", "labelled"]
    assert isinstance(await agents.error(), ModelUnavailableError)
    assert "3 pairs failed in a row, the last one with: no connection" in str(await agents.error())


async def test_pairs_that_failed_before_the_last_success_are_left_too() -> None:
    agents = Agents(PAIRS, places=5, allowed=3)
    await agents.end(PAIRS[0], AWAY)
    await agents.end(PAIRS[1])  # it was on the wire when the model went away
    for pair in PAIRS[2:]:
        await agents.end(pair, AWAY)
    assert await agents.statuses() == ["labelled"]
    assert agents.begun == len(PAIRS)


async def test_a_pair_that_fails_between_others_is_data() -> None:
    agents = Agents(PAIRS[:3], places=3, allowed=3)
    await agents.end(PAIRS[0], AWAY)
    await agents.end(PAIRS[1])
    await agents.end(PAIRS[2], AWAY)
    assert await agents.statuses() == ["failed", "labelled", "failed"]
    assert await agents.error() is None


async def test_pairs_that_fail_by_an_error_of_the_program_are_kept_and_end_the_shard() -> None:
    agents = Agents(PAIRS[:3], places=3, allowed=2)
    await agents.end(PAIRS[0], KeyError("x"))
    await agents.end(PAIRS[1], KeyError("x"))
    await agents.end(PAIRS[2])
    assert await agents.statuses() == ["failed", "failed", "labelled"]
    assert isinstance(await agents.error(), JudgingError)


async def test_an_interrupted_shard_begins_nothing_and_waits_for_what_is_on_the_wire(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shard, "WIRE_S", 0.5)
    agents = Agents(PAIRS, places=2)
    await settled()
    agents.shard.cancel()
    await agents.end(PAIRS[0])
    assert await agents.statuses() == ["labelled"], "the other one took too long"
    assert agents.begun == 2
    assert await agents.error()


class Owner:
    """Grants places a few at a time, and notes how many it gets back."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.free = asyncio.Semaphore(3)
        self.back = 0
        self.is_lost = False

    async def acquire_slots(self, wanted: int) -> int:
        self.asked.append(wanted)
        await self.free.acquire()
        if self.is_lost:
            raise WorkerLostError("its process died")
        return 1

    def release_slots(self, number: int) -> None:
        self.back += number


async def test_a_slot_that_a_pair_leaves_is_the_next_one_s_and_the_last_ones_go_back() -> None:
    owner: Any = Owner()
    slots = SlotLease(owner, 5)
    begun: list[int] = []
    ends = [asyncio.Event() for _ in range(5)]

    async def judge(number: int) -> None:
        async with slots:
            begun.append(number)
            await ends[number].wait()

    judging = [asyncio.create_task(judge(number)) for number in range(5)]
    await settled()
    assert (begun, owner.asked) == ([0, 1, 2], [5, 4, 3, 2]), "three are all"
    ends[0].set()
    await settled()
    assert (begun, owner.back) == ([0, 1, 2, 3], 0)
    ends[1].set()
    await settled()
    assert begun == [0, 1, 2, 3, 4]
    owner.free.release()  # what was asked for before
    await settled()
    assert owner.back == 1, "nobody waits for it"
    for end in ends:
        end.set()
    await asyncio.gather(*judging)
    assert owner.back == 4


async def test_a_shard_whose_owner_is_lost_ends() -> None:
    owner: Any = Owner()
    owner.is_lost = True
    with pytest.raises(WorkerLostError):
        await SlotLease(owner, 5).__aenter__()


async def test_once_stopped_a_ledger_lets_no_request_be_sent(
    server: ScriptedServer, tmp_path: Path
) -> None:
    chosen = settings(server, tmp_path, "docker")
    ledger = journal_ledger(chosen.store, chosen.llm)
    ledger.stop()
    with pytest.raises(asyncio.CancelledError):
        async with ledger.reserved(200, None):
            pass
    assert server.calls == []
    assert ledger.spent() == (0, 0.0)
