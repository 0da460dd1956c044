"""Stages: Prefect tasks, tried again after what passes, and cached while the store confirms it.

Every task of this program is made by `stage`, so that none has a cache or a retry by accident.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, update_wrapper
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec, TypeVar, cast

from infra.errors import (
    BoxLostError,
    CosqaError,
    EncoderUnavailableError,
    EngineUnavailableError,
    ModelUnavailableError,
    StoreLockedError,
    WorkerLostError,
)

if TYPE_CHECKING:
    from prefect import State, Task
    from prefect.context import TaskRunContext

P = ParamSpec("P")
R = TypeVar("R")

# The parameters of a call by their names: ``p.collection``. Where the store is asked whether a
# result holds, ``p.key`` is the key of the cache.
Parameters = SimpleNamespace

# States and futures of the stages that another one follows, for ``wait_for``.
Steps = Sequence[Any]


class StageRetry(NamedTuple):
    """When a stage is tried again.

    Attributes:
        delays_s: Seconds before each further try, from which Prefect departs by half at random.
        errors: Errors that pass by themselves; any other ends the stage at once.
    """

    delays_s: Sequence[float]
    errors: tuple[type[Exception], ...]

    def is_passing(self, state: "State[Any]") -> bool:
        """Return True if a failed state is of an error that passes."""
        error = getattr(state.data, "result", state.data)
        error = getattr(error, "error", error)  # of a result that a failed stage gives all the same
        if isinstance(error, BaseExceptionGroup):
            return error.split(self.errors)[1] is None
        return isinstance(error, self.errors)


ENCODER_AWAY = (
    EncoderUnavailableError, WorkerLostError, ModelUnavailableError, StoreLockedError,
)  # fmt: skip

LOCKED = StageRetry((10, 20), (StoreLockedError,))
VECTORS_AWAY = StageRetry((30, 60), ENCODER_AWAY)
# Every five minutes for an hour: a night's run does not end by an outage.
MODEL_AWAY = StageRetry(
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
    retries: StageRetry = LOCKED,
) -> "Callable[[Callable[P, R]], Task[P, R]]":
    """Return a decorator that makes a function a stage.

    Args:
        name: The stage's name in the Prefect UI.
        run_name: Template of a run's name, filled with the function's parameters.
        key: Returns the digest of the inputs by which its result is cached; without it none is.
        is_valid: Returns whether the store has the data that a cached result refers to.
        retries: When it is tried again.
    """

    def decorator(function: Callable[P, R]) -> "Task[P, R]":
        return cast("Task[P, R]", Stage(function, name, run_name, key, is_valid, retries))

    return decorator


@dataclass(eq=False)
class Stage(Generic[P, R]):
    """A task of Prefect's that is made when it is first used; see `stage`.

    To ask whether it `is_done` imports nothing of Prefect, which takes as long as all else.
    """

    function: Callable[P, R]
    name: str
    run_name: str
    key: Callable[[Parameters], str] | None
    is_valid: Callable[[Parameters], bool]
    retry_policy: StageRetry

    def __post_init__(self) -> None:
        update_wrapper(self, self.function)

    @cached_property
    def task(self) -> "Task[P, R]":
        """The task."""
        from prefect import Task  # noqa: PLC0415 - takes a second
        from prefect.cache_policies import NO_CACHE, CacheKeyFnPolicy  # noqa: PLC0415

        # Functions of their own: Prefect copies their objects, and makes of a method "never retry".
        key, is_valid, retry_policy = self.key, self.is_valid, self.retry_policy
        policy = CacheKeyFnPolicy(
            cache_key_fn=lambda context, given: key and cache_key(context, given, key, is_valid)
        )
        return Task(
            self.function,
            name=self.name,
            task_run_name=self.run_name,
            tags=[self.name],
            cache_policy=policy if key else NO_CACHE,
            persist_result=bool(key),
            result_serializer="json",
            retries=len(retry_policy.delays_s),
            retry_delay_seconds=list(retry_policy.delays_s),
            retry_jitter_factor=0.5,
            retry_condition_fn=lambda _task, _run, state: retry_policy.is_passing(state),
        )

    def __call__(self, *args: P.args, **options: P.kwargs) -> R:
        """Run the task."""
        return self.task(*args, **options)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the task's
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.task, name)


def task_of(stage: "Task[P, R]") -> "Task[P, R]":
    """Return the task that a stage has made, for what asks for its class or sends it elsewhere."""
    return stage.task if isinstance(stage, Stage) else stage


def is_done(done: "Task[..., Any]", **inputs: object) -> bool:
    """Return True if the store has what a stage with a key would give for these inputs."""
    asked = cast("Stage[..., Any]", done)
    assert asked.key  # noqa: S101 - it has one
    given = Parameters(**inputs)
    given.key = asked.key(given)
    return asked.is_valid(given)


def cache_key(
    context: "TaskRunContext",
    inputs: Mapping[str, Any],
    key_of: Callable[[Parameters], str],
    is_valid: Callable[[Parameters], bool],
) -> str | None:
    """Return the cache's key of a call, whose record is dropped if the store does not confirm it.

    The stage then runs, does what is missing, and writes another record. It also runs, without a
    record, where its inputs cannot be read: it says itself what is wrong with them.
    """
    from prefect.filesystems import LocalFileSystem  # noqa: PLC0415 - takes a second

    try:
        key = key_of(Parameters(**inputs))
        if is_valid(Parameters(**inputs, key=key)):
            return key
    except CosqaError:
        return None
    storage = context.result_store.result_storage
    if not isinstance(storage, LocalFileSystem):
        return None  # the record cannot be dropped
    (Path(storage.basepath or ".") / key).unlink(missing_ok=True)
    return key


class _NoLinks(dict[int, Any]):
    """Results by whose identity Prefect would draw arrows: none is added."""

    def __setitem__(self, *_: object) -> None:
        """Add nothing."""


def draw_arrows_by_steps() -> None:
    """Let flows alone say what follows what, by ``wait_for``.

    Prefect would also draw an arrow wherever a parameter is the same Python object as a part of
    some result, so that two stages with one string between them seem to follow one another:
    https://github.com/PrefectHQ/prefect/issues/20558.
    """
    if "prefect" not in sys.modules:  # and so there is no flow
        return
    from prefect.context import FlowRunContext  # noqa: PLC0415 - takes a second

    if context := FlowRunContext.get():
        context.run_results = _NoLinks()
