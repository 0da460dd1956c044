"""Prefect's side of stages: their tasks, and the cache that the store confirms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from prefect import Task
from prefect.cache_policies import NO_CACHE, CachePolicy
from prefect.client.schemas.objects import RunType, State
from prefect.context import FlowRunContext, TaskRunContext
from prefect.filesystems import LocalFileSystem

from infra.errors import CosqaError
from tasks.runtime.caching import Parameters, Stage

P = ParamSpec("P")
R = TypeVar("R")


@dataclass
class Confirmed(CachePolicy):
    """Lets Prefect answer from its cache only while the store has what the result refers to.

    Attributes:
        key_of: Returns the digest of a call's inputs.
        is_valid: Returns whether the store has the data that a result for these inputs refers to.
    """

    key_of: Callable[[Parameters], str] = field(kw_only=True)
    is_valid: Callable[[Parameters], bool] = field(kw_only=True)

    def compute_key(
        self,
        task_ctx: TaskRunContext,
        inputs: Mapping[str, Any],
        flow_parameters: Mapping[str, Any],  # noqa: ARG002 - Prefect's signature
        **_: object,
    ) -> str | None:
        """Return the key of a call, whose record is dropped if the store does not confirm it.

        The stage then runs, does what is missing, and writes another record. It also runs, without
        a record, where its inputs cannot be read: it says itself what is wrong with them.
        """
        try:
            key = self.key_of(Parameters(**inputs))
            is_valid = self.is_valid(Parameters(**inputs, key=key))
        except CosqaError:
            return None
        if is_valid:
            return key
        storage = task_ctx.result_store.result_storage
        if not isinstance(storage, LocalFileSystem):
            return None  # the record cannot be dropped
        (Path(storage.basepath or ".") / key).unlink(missing_ok=True)
        return key


def task_of(stage: Task[P, R] | Stage[P, R]) -> Task[P, R]:
    """Return the task of a stage, for what asks for its class or sends it elsewhere."""
    return stage.task if isinstance(stage, Stage) else stage


def new_task(stage: Stage[P, R]) -> Task[P, R]:
    """Return a task for a stage."""
    retries = stage.retries_when
    return Task(
        stage.function,
        name=stage.name,
        task_run_name=stage.run_name,
        tags=[stage.name],
        cache_policy=Confirmed(key_of=stage.key, is_valid=stage.is_valid)
        if stage.key
        else NO_CACHE,
        persist_result=bool(stage.key),
        result_serializer="json",
        retries=len(retries.delays_s),
        retry_delay_seconds=list(retries.delays_s),
        retry_jitter_factor=0.5,
        # A function of its own: of a method Prefect would make "never", without a word.
        retry_condition_fn=lambda _task, _run, state: retries.is_passing(state),
    )


class _NoLinks(dict[int, tuple[State[Any], RunType, Any]]):
    """Results by whose identity Prefect would draw arrows: none is added."""

    def __setitem__(self, *_: object) -> None:
        """Add nothing."""


def draw_arrows_by_steps() -> None:
    """Let flows alone say what follows what, by ``wait_for``.

    Prefect would also draw an arrow wherever a parameter is the same Python object as a part of
    some result, so that two stages with one string between them seem to follow one another:
    https://github.com/PrefectHQ/prefect/issues/20558.
    """
    if context := FlowRunContext.get():
        context.run_results = _NoLinks()
