"""Laws of stages and shards as Prefect tasks: what is cached, tried again, kept and given back.

Covers `tasks.runtime.caching`.
"""

import gc
import logging
import weakref
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
from prefect import State, Task, flow
from prefect.cache_policies import NO_CACHE, CacheKeyFnPolicy
from prefect.context import serialize_context
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_TASKS_DEFAULT_PERSIST_RESULT,
    temporary_settings,
)
from prefect.states import Completed, Failed
from prefect.task_engine import run_task_sync

from infra.errors import (
    BoxLostError,
    BudgetExhaustedError,
    CosqaError,
    EncoderError,
    EncoderUnavailableError,
    EngineUnavailableError,
    JudgingError,
    ModelRefusedError,
    ModelUnavailableError,
    SettingsError,
    SourceError,
    StoreBusyError,
    StoreLockedError,
    WorkerLostError,
)
from infra.settings import Settings, StoreSettings
from tasks.runtime import caching
from tasks.runtime.caching import Parameters, StageRetry, stage, task_of
from tasks.runtime.progress import run_logger, send_logs
from tasks.stages.annotate.ledger_actor import RemoteLedger
from tasks.stages.annotate.shard import Judged, Shard, annotate_shard
from tests.flows.recording import flows_and_tasks
from tests.tasks.stages.annotate.test_shard import RECIPE
from tests.waiting import until

RUN = uuid4().hex
STORE: set[str] = set()
DONE: list[str] = []
TRIED: list[str] = []


def _key(p: Parameters) -> str:
    if p.item == "unreadable":
        raise SourceError("no such item")
    return f"{RUN}-{p.item}"


@stage("fill", "fill {item}", key=_key, is_valid=lambda p: p.item in STORE)
def fill(item: str, note: str = "") -> str:
    """Put an item into the store."""
    STORE.add(item)
    DONE.append(item)
    return item + note


@pytest.fixture(autouse=True)
def emptied() -> None:
    STORE.clear()
    DONE.clear()
    TRIED.clear()


@pytest.mark.parametrize("submitted", [False, True], ids=["called", "submitted"])
@pytest.mark.usefixtures("prefect_server")
def test_a_stage_runs_once_for_its_key_until_the_store_loses_what_it_made(submitted: bool) -> None:
    def call(item: str, note: str) -> str:
        found: str = fill.submit(item, note).result() if submitted else fill(item, note)
        return found

    @flow
    def several() -> list[str]:
        first = [call("a", " first"), call("a", " second"), call("b", "")]
        STORE.discard("a")
        return [*first, call("a", " third"), call("a", ""), call("b", "")]

    assert several() == ["a first", "a first", "b", "a third", "a third", "b"]
    assert DONE == ["a", "b", "a"]


@pytest.mark.usefixtures("prefect_server")
def test_a_stage_whose_inputs_cannot_be_read_says_so_itself() -> None:
    @flow
    def twice() -> None:
        fill("unreadable")
        fill("unreadable")

    twice()
    assert DONE == ["unreadable"] * 2


def test_no_task_has_a_cache_by_accident() -> None:
    with temporary_settings({PREFECT_TASKS_DEFAULT_PERSIST_RESULT: True}):
        tasks = [item for item in flows_and_tasks() if isinstance(item, Task)]
    assert len(tasks) > 20
    for task in tasks:
        policy = task.cache_policy
        is_confirmed = isinstance(policy, CacheKeyFnPolicy) and policy.cache_key_fn.__module__
        assert policy == NO_CACHE or is_confirmed == caching.__name__, task.name
        assert task.retry_condition_fn is not None, task.name


PASSING: dict[str, tuple[StageRetry, set[type[CosqaError]]]] = {
    "locked": (caching.LOCKED, {StoreLockedError}),
    "vectors": (
        caching.VECTORS_AWAY,
        {StoreLockedError, EncoderUnavailableError, WorkerLostError, ModelUnavailableError},
    ),
    "model": (
        caching.MODEL_AWAY,
        {
            ModelUnavailableError, WorkerLostError, StoreLockedError, EngineUnavailableError,
            BoxLostError,
        },
    ),
}  # fmt: skip
NEVER = {
    BudgetExhaustedError, ModelRefusedError, SettingsError, SourceError, EncoderError,
    StoreBusyError,
}  # fmt: skip


@pytest.mark.parametrize("name", PASSING)
@pytest.mark.usefixtures("prefect_server")
def test_what_passes_by_itself_is_tried_again_and_nothing_else(name: str) -> None:
    retries, passing = PASSING[name]
    errors = NEVER.union(*(errors for _, errors in PASSING.values()))

    def fail(error: type[Exception]) -> None:
        TRIED.append(error.__name__)
        raise ExceptionGroup("of several", [error("gone")]) if name == "model" else error("gone")

    failing: Callable[..., object] = stage("fail", "fail", retries=retries._replace(delays_s=(0,)))(
        fail
    )

    @flow
    def tries() -> None:
        for error in errors:
            failing(error, return_state=True)

    tries(return_state=True)
    again = {error.__name__ for error in errors if TRIED.count(error.__name__) == 2}
    assert again == {error.__name__ for error in passing}
    assert set(TRIED) == {error.__name__ for error in errors}


def test_what_every_shard_would_meet_is_not_tried_again_and_no_annotation_is_lost(
    prefect_server: str,
) -> None:
    tried: list[str] = []

    def give(name: str, error: Any) -> State[Judged]:
        tried.append(name)
        if name == "raised":
            raise error
        return Failed(data=Judged([], error), message=str(error))

    condition = annotate_shard.retry_condition_fn
    task = Task(give, retries=2, retry_condition_fn=condition, cache_policy=NO_CACHE)

    @flow
    def tries() -> list[Any]:
        states = [
            task("budget", BudgetExhaustedError("spent"), return_state=True),
            task("settings", SettingsError("no store"), return_state=True),
            task("model", ModelRefusedError("no key"), return_state=True),
            task("program", JudgingError("10 in a row"), return_state=True),
            task("away", ModelUnavailableError("no connection"), return_state=True),
            task("raised", OSError("gone"), return_state=True),
        ]
        return [state.result(raise_on_failure=False) for state in states]

    with temporary_settings({PREFECT_API_URL: prefect_server}):
        *given, raised = tries()
    assert tried == ["budget", "settings", "model", "program", *["away"] * 3, "raised"]
    assert [type(judged.error) for judged in given] == [
        BudgetExhaustedError, SettingsError, ModelRefusedError, JudgingError, ModelUnavailableError,
    ]  # fmt: skip
    assert isinstance(raised, OSError)


def test_a_worker_keeps_parameters_and_results_of_its_first_run_at_most(
    prefect_server: str,
) -> None:
    kept = list[weakref.ref[Judged]]()

    def judge(given: Judged) -> State[Judged]:
        run_logger(__name__).info("judging")
        result = Judged()
        kept.extend(map(weakref.ref, (given, result)))
        send_logs()
        return Completed(data=result)

    task = Task(judge, cache_policy=NO_CACHE)

    @flow
    def shards() -> None:
        context = serialize_context()

        def work() -> None:  # as Ray's worker does, outside of the flow's context
            for _ in range(5):
                run_task_sync(
                    task, uuid4(), parameters={"given": Judged()}, context=context,
                    return_type="state",
                )  # fmt: skip

        worker = Thread(target=work)
        worker.start()
        worker.join()

    def number_kept() -> int:
        gc.collect()
        return sum(each() is not None for each in kept)

    with temporary_settings({PREFECT_API_URL: prefect_server}):
        shards()
        until(lambda: number_kept() <= 2)
    assert len(kept) == 10


def test_each_shard_of_a_worker_is_an_attempt_of_its_own_run_and_only_the_first_stays(
    prefect_server: str, tmp_path: Path
) -> None:
    asked, given, alive = list[str](), list[weakref.ref[Shard]](), list[int]()

    class Handle:
        def ledger(self, attempt: str) -> RemoteLedger:
            asked.append(attempt)
            alive.append(sum(each() is not None for each in given))
            raise WorkerLostError("no ledger is needed")

    runs = [uuid4() for _ in range(4)]

    @flow
    def shards() -> None:
        context = serialize_context()
        committee = Settings(store=StoreSettings(folder=tmp_path)).committee
        task = task_of(annotate_shard).with_options(retries=0)

        def work() -> None:
            for run in runs:
                shard = Shard(collection="c", first=1, last=1, content=b"")
                given.append(weakref.ref(shard))
                parameters = {
                    "shard": shard, "committee": committee, "recipe": RECIPE, "actor": Handle(),
                }  # fmt: skip
                run_task_sync(
                    task, run, parameters=parameters, context=context, return_type="state"
                )

        worker = Thread(target=work)
        worker.start()
        worker.join()

    gc.disable()
    logging.disable()  # pytest keeps what is logged, with its tracebacks
    try:
        with temporary_settings({PREFECT_API_URL: prefect_server}):
            shards()
    finally:
        gc.enable()
        logging.disable(logging.NOTSET)
    assert asked == [str(run) for run in runs]
    assert max(alive) <= 2
