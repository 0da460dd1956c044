"""How a stage is cached: Prefect remembers its result, and the store has a veto.

A stage's key is the hash of its inputs. Prefect answers from its cache (state "Cached" in the UI)
only when the store confirms that it still holds what the result refers to; otherwise the stage runs
again, and finds by itself what is left to do.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from prefect import Task, task
from prefect.context import TaskRunContext

P = ParamSpec("P")
R = TypeVar("R")


def _by_key(_context: TaskRunContext, parameters: dict[str, Any]) -> str:
    return str(parameters["key"])


def stage(name: str, run_name: str) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Return a decorator for a stage's task, whose parameter ``key`` identifies its inputs.

    Args:
        name: The stage's name in the Prefect UI.
        run_name: Template of a run's name, over the task's parameters.
    """
    return task(
        name=name,
        task_run_name=run_name,
        tags=[name],
        cache_key_fn=_by_key,
        persist_result=True,
        result_serializer="json",
    )


def run_stage(stage_task: Task[P, R], holds: bool, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a stage, or take its cached result when the store ``holds`` what it refers to."""
    return stage_task.with_options(refresh_cache=not holds)(*args, **kwargs)
