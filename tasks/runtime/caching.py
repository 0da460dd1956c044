"""Cached stages: tasks whose results Prefect caches and the store confirms.

A stage's key is the digest of its inputs. A cached result is used (state "Cached" in the UI) only
if the store still has the data that it refers to; otherwise the stage runs again and does what is
missing.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar

from prefect import Task
from prefect.context import TaskRunContext
from prefect.utilities.callables import get_call_parameters

P = ParamSpec("P")
R = TypeVar("R")

# The parameters of a call by their names: ``p.collection``.
Parameters = SimpleNamespace


class Stage(Task[P, R]):
    """A task whose cached result is used only if ``is_valid`` returns true for its parameters."""

    is_valid: Callable[[Parameters], bool]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:  # type: ignore[override]
        """Return the stage's result, from Prefect's cache if the store confirms it."""
        is_valid = self.is_valid(Parameters(**get_call_parameters(self.fn, args, kwargs)))
        return self.with_options(refresh_cache=not is_valid)(*args, **kwargs)


def stage(
    name: str,
    run_name: str,
    *,
    key: Callable[[Parameters], str],
    is_valid: Callable[[Parameters], bool],
) -> Callable[[Callable[P, R]], Stage[P, R]]:
    """Return a decorator that makes a function a cached stage.

    Args:
        name: The stage's name in the Prefect UI.
        run_name: Template of a run's name, filled with the function's parameters.
        key: Returns the digest of the inputs.
        is_valid: Returns whether the store has the data that a result for these inputs refers to.
    """

    def cache_key(_context: TaskRunContext, parameters: dict[str, Any]) -> str:
        return key(Parameters(**parameters))

    def decorate(function: Callable[P, R]) -> Stage[P, R]:
        task: Stage[P, R] = Stage(
            function,
            name=name,
            task_run_name=run_name,
            tags=[name],
            cache_key_fn=cache_key,
            persist_result=True,
            result_serializer="json",
        )
        task.is_valid = is_valid
        return task

    return decorate
