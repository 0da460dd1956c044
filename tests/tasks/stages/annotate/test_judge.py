"""Laws of a judge: what it takes and when it ends, and what becomes of pairs that fail."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr

from infra.errors import BudgetExhaustedError, JudgingError, ModelRefusedError
from infra.ids import RecipeId
from infra.records import Annotation, Code, ExecutionResult, Pair, Query
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from sandbox.backends import backends
from tasks.runtime.pair_queue import Work
from tasks.runtime.references import RecipeReference
from tasks.stages.annotate.judge import judge_all
from tests.agents.conftest import rule
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.fakes.sandbox import PASSED, FakeSandbox

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


class Collected:
    """A source of pairs, one at a time, that keeps what it gets."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.annotations: list[Annotation] = []
        self.left = ""
        self._waiting = list(pairs)
        self._handed = 0

    async def exchange(self, finished: Sequence[Annotation], *, wants: bool) -> Work:
        self.annotations += finished
        is_free = wants and self._handed == len(self.annotations)
        pairs = [self._waiting.pop(0)] if is_free and self._waiting else []
        self._handed += len(pairs)
        return Work(pairs, 1, is_ended=not self._waiting)

    async def leave(self, why: str) -> None:
        self.left = why


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


@pytest.mark.parametrize("fault", FAULTS)
async def test_an_exception_makes_its_pair_failed_and_the_run_goes_on(
    server: ScriptedServer,
    tmp_path: Path,
    poisoned: Callable[[Callable[[], object]], str],
    fault: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    sink = Collected(PAIRS)
    chosen = settings(server, tmp_path, poisoned(FAULTS[fault]))
    failed = await judge_all(sink, chosen, RECIPE)
    assert failed == 1
    assert [item.key for item in sink.annotations] == [pair.key for pair in PAIRS]
    by_key = {item.key: item for item in sink.annotations}
    bad = by_key.pop(POISON.key)
    assert (bad.status, bad.path, bad.recipe_id) == ("failed", "internal_error", "r")
    assert {item.status for item in by_key.values()} == {"labelled"}
    assert len(bad.reason.encode()) <= 5_000
    if fault.endswith(("Error", "Group", "Iteration")) and fault != "OSError":
        assert fault in bad.reason or "RuntimeError" in bad.reason
    assert "Traceback" in caplog.text
    assert POISON.query.query_id in caplog.text


async def test_failures_of_this_kind_in_a_row_end_the_judge(
    server: ScriptedServer, tmp_path: Path, poisoned: Callable[[Callable[[], object]], str]
) -> None:
    same = [
        Pair(query=POISON.query, code=Code.of(f"def g():\n    return {number}"))
        for number in range(5)
    ]
    chosen = settings(server, tmp_path, poisoned(FAULTS["KeyError"]), stop_after=3)
    sink = Collected(same)
    with pytest.raises(JudgingError, match=r"3 pairs failed in a row.*KeyError"):
        await judge_all(sink, chosen, RECIPE)
    assert len(sink.annotations) == 3


@pytest.mark.parametrize("error", [ModelRefusedError, BudgetExhaustedError])
async def test_an_error_that_every_pair_would_meet_still_ends_the_judge(
    server: ScriptedServer,
    tmp_path: Path,
    poisoned: Callable[[Callable[[], object]], str],
    error: type[Exception],
) -> None:
    sink = Collected(PAIRS)
    chosen = settings(server, tmp_path, poisoned(lambda: _raise(error("stop"))))
    with pytest.raises(error):
        await judge_all(sink, chosen, RECIPE)
    assert len(sink.annotations) == 2


async def test_a_judge_whose_time_is_over_takes_no_more_pairs_and_finishes_those_it_has(
    server: ScriptedServer, tmp_path: Path, poisoned: Callable[[Callable[[], object]], str]
) -> None:
    source = Collected(PAIRS)
    chosen = settings(server, tmp_path, poisoned(FAULTS["KeyError"]))
    assert await judge_all(source, chosen, RECIPE, lifetime_s=0.0) == 0
    assert source.annotations == []
    assert await judge_all(source, chosen, RECIPE, lifetime_s=0.05) <= 1
    assert 0 < len(source.annotations) < len(PAIRS), "what it began it finished"


class AtOnce(Collected):
    """A source that hands out all pairs together."""

    async def exchange(self, finished: Sequence[Annotation], *, wants: bool) -> Work:
        self.annotations += finished
        pairs, self._waiting = self._waiting, []
        return Work(pairs, len(PAIRS), is_ended=True)


async def test_requests_in_flight_at_an_error_are_awaited_and_what_they_give_is_kept(
    tmp_path: Path, poisoned: Callable[[Callable[[], object]], str]
) -> None:
    clear = {"reply": {"reason": "r", "verdict": "clear_match"}, "delay_s": 1.5}
    script = [
        rule("screener", {"reply": {"reason": "r", "verdict": "unclear"}}, query=POISON.query.text),
        rule("writer", {"reply": {"reading": "r", "program": "poison"}}),
        rule("screener", clear),
    ]
    source = AtOnce(PAIRS)
    with ScriptedServer(script) as server:
        chosen = settings(server, tmp_path, poisoned(lambda: _raise(ModelRefusedError("stop"))))
        with pytest.raises(ModelRefusedError):
            await judge_all(source, chosen, RECIPE)
    others = [pair.key for pair in PAIRS if pair is not POISON]
    assert sorted(item.key for item in source.annotations if item.label) == sorted(others)
