"""Laws of stages: what the cache answers, and what is tried again.

Covers `tasks.runtime.caching`.
"""

from collections.abc import Callable
from uuid import uuid4

import pytest
from prefect import Task, flow
from prefect.cache_policies import NO_CACHE, CacheKeyFnPolicy
from prefect.settings import PREFECT_TASKS_DEFAULT_PERSIST_RESULT, temporary_settings

from infra.errors import (
    BoxLostError,
    BudgetExhaustedError,
    CosqaError,
    EncoderError,
    EncoderUnavailableError,
    EngineUnavailableError,
    ModelRefusedError,
    ModelUnavailableError,
    SettingsError,
    SourceError,
    StoreBusyError,
    StoreLockedError,
    WorkerLostError,
)
from tasks.runtime import caching
from tasks.runtime.caching import Parameters, StageRetry, stage
from tests.flows.recording import flows_and_tasks

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
def test_a_stage_runs_once_for_its_key_until_the_store_loses_what_it_made(
    submitted: bool,
) -> None:
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
