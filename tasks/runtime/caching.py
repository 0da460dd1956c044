"""Caching of stages: Prefect remembers a stage's result, the store decides whether it still holds.

A stage's key is the hash of its inputs. Prefect answers from its cache (state "Cached" in the UI)
only when the store holds what the result refers to; otherwise the stage runs again, and finds by
itself what is left to do.
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
    """A task whose cached result is used only while ``holds`` is true of its parameters."""

    holds: Callable[[Parameters], bool]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:  # type: ignore[override]
        """Return the stage's result, from Prefect's cache where the store confirms it."""
        holds = self.holds(Parameters(**get_call_parameters(self.fn, args, kwargs)))
        return self.with_options(refresh_cache=not holds)(*args, **kwargs)


def stage(
    name: str,
    run_name: str,
    *,
    key: Callable[[Parameters], str],
    holds: Callable[[Parameters], bool],
) -> Callable[[Callable[P, R]], Stage[P, R]]:
    """Return a decorator that makes a function a cached stage.

    Args:
        name: The stage's name in the Prefect UI.
        run_name: Template of a run's name, over the function's parameters.
        key: Identity of the inputs.
        holds: Whether the store has what a result for these inputs refers to.
    """

    def cache_key(_context: TaskRunContext, parameters: dict[str, Any]) -> str:
        return key(Parameters(**parameters))

    def decorate(function: Callable[P, R]) -> Stage[P, R]:
        made: Stage[P, R] = Stage(
            function,
            name=name,
            task_run_name=run_name,
            tags=[name],
            cache_key_fn=cache_key,
            persist_result=True,
            result_serializer="json",
        )
        made.holds = holds
        return made

    return decorate
