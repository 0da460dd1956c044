"""Stages: Prefect tasks, tried again after what passes, and cached while the store confirms it.

Every task of this program is made by `stage`, so that none has a cache or a retry by accident.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, ParamSpec, TypeVar

from prefect import Task, task
from prefect.cache_policies import NO_CACHE, CachePolicy
from prefect.client.schemas.objects import RunType, State
from prefect.context import FlowRunContext, TaskRunContext
from prefect.filesystems import LocalFileSystem

from infra.errors import (
    BoxLostError,
    CosqaError,
    EncoderUnavailableError,
    EngineUnavailableError,
    ModelUnavailableError,
    StoreLockedError,
    WorkerLostError,
)

P = ParamSpec("P")
R = TypeVar("R")

# The parameters of a call by their names: ``p.collection``. Where the store is asked whether a
# result holds, ``p.key`` is the key of the cache.
Parameters = SimpleNamespace

# States and futures of the stages that another one follows, for ``wait_for``.
Steps = Sequence[Any]


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


class Retries(NamedTuple):
    """When a stage is tried again.

    Attributes:
        delays_s: Seconds before each further try, from which Prefect departs by half at random.
        errors: Errors that pass by themselves; any other ends the stage at once.
    """

    delays_s: Sequence[float]
    errors: tuple[type[Exception], ...]

    def is_passing(self, state: State[Any]) -> bool:
        """Return whether a failed state is of an error that passes."""
        error = getattr(state.data, "result", state.data)
        error = getattr(error, "error", error)  # of a result that a failed stage gives all the same
        if isinstance(error, BaseExceptionGroup):
            return error.split(self.errors)[1] is None
        return isinstance(error, self.errors)


ENCODER_AWAY = (
    EncoderUnavailableError, WorkerLostError, ModelUnavailableError, StoreLockedError,
)  # fmt: skip

LOCKED = Retries((10, 20), (StoreLockedError,))
VECTORS_AWAY = Retries((30, 60), ENCODER_AWAY)
# Every five minutes for an hour: a night's run does not end by an outage.
MODEL_AWAY = Retries(
    (5, 60, *[300] * 12),
    (
        ModelUnavailableError, WorkerLostError, EngineUnavailableError, BoxLostError,
        StoreLockedError,
    ),
)  # fmt: skip


def stage(
    name: str,
    run_name: str,
    *,
    key: Callable[[Parameters], str] | None = None,
    is_valid: Callable[[Parameters], bool] = lambda _: True,
    retries: Retries = LOCKED,
) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Return a decorator that makes a function a stage.

    Args:
        name: The stage's name in the Prefect UI.
        run_name: Template of a run's name, filled with the function's parameters.
        key: Returns the digest of the inputs by which its result is cached; without it none is.
        is_valid: Returns whether the store has the data that a cached result refers to.
        retries: When it is tried again.
    """
    return task(
        name=name,
        task_run_name=run_name,
        tags=[name],
        cache_policy=Confirmed(key_of=key, is_valid=is_valid) if key else NO_CACHE,
        persist_result=bool(key),
        result_serializer="json",
        retries=len(retries.delays_s),
        retry_delay_seconds=list(retries.delays_s),
        retry_jitter_factor=0.5,
        # A function of its own: of a method Prefect would make "never", without a word.
        retry_condition_fn=lambda _task, _run, state: retries.is_passing(state),
    )


def is_done(done: Task[..., Any], **inputs: object) -> bool:
    """Return whether the store has what a stage with a key would give for these inputs."""
    policy = done.cache_policy
    assert isinstance(policy, Confirmed)  # noqa: S101 - it has a key
    given = Parameters(**inputs)
    given.key = policy.key_of(given)
    return policy.is_valid(given)


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
