"""Stages: Prefect tasks, tried again after what passes, and cached while the store confirms it.

Every task of this program is made by `stage`, so that none has a cache or a retry by accident.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, update_wrapper
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec, TypeVar, cast

from infra.errors import (
    BoxLostError,
    EncoderUnavailableError,
    EngineUnavailableError,
    ModelUnavailableError,
    StoreLockedError,
    WorkerLostError,
)

if TYPE_CHECKING:
    from prefect import State, Task

P = ParamSpec("P")
R = TypeVar("R")

# The parameters of a call by their names: ``p.collection``. Where the store is asked whether a
# result holds, ``p.key`` is the key of the cache.
Parameters = SimpleNamespace

# States and futures of the stages that another one follows, for ``wait_for``.
Steps = Sequence[Any]


class Retries(NamedTuple):
    """When a stage is tried again.

    Attributes:
        delays_s: Seconds before each further try, from which Prefect departs by half at random.
        errors: Errors that pass by themselves; any other ends the stage at once.
    """

    delays_s: Sequence[float]
    errors: tuple[type[Exception], ...]

    def is_passing(self, state: "State[Any]") -> bool:
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
) -> "Callable[[Callable[P, R]], Task[P, R]]":
    """Return a decorator that makes a function a stage.

    Args:
        name: The stage's name in the Prefect UI.
        run_name: Template of a run's name, filled with the function's parameters.
        key: Returns the digest of the inputs by which its result is cached; without it none is.
        is_valid: Returns whether the store has the data that a cached result refers to.
        retries: When it is tried again.
    """

    def made(function: Callable[P, R]) -> "Task[P, R]":
        return cast("Task[P, R]", Stage(function, name, run_name, key, is_valid, retries))

    return made


class Stage(Generic[P, R]):
    """A task of Prefect's that is made when it is first used.

    To ask whether it `is_done` imports nothing of Prefect, which takes as long as all else.
    """

    def __init__(
        self,
        function: Callable[P, R],
        name: str,
        run_name: str,
        key: Callable[[Parameters], str] | None,
        is_valid: Callable[[Parameters], bool],
        retries: Retries,
    ) -> None:
        update_wrapper(self, function)
        self.function, self.name, self.run_name = function, name, run_name
        self.key, self.is_valid, self.retries_when = key, is_valid, retries

    @cached_property
    def task(self) -> "Task[P, R]":
        """The task."""
        from tasks.runtime.prefect_tasks import new_task  # noqa: PLC0415 - imports Prefect

        return new_task(self)

    def __call__(self, *args: P.args, **options: P.kwargs) -> R:
        """Run the task."""
        return self.task(*args, **options)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the task's
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.task, name)


def is_done(done: "Task[..., Any]", **inputs: object) -> bool:
    """Return whether the store has what a stage with a key would give for these inputs."""
    asked = cast("Stage[..., Any]", done)
    assert asked.key  # noqa: S101 - it has one
    given = Parameters(**inputs)
    given.key = asked.key(given)
    return asked.is_valid(given)
