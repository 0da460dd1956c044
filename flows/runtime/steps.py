"""What follows what in a flow: the steps that a stage waits for, and stages side by side.

Prefect draws its arrows from ``wait_for``. So the parts of flows hand on, beside what they return,
the steps that the next part follows: states and futures of stages, and results of subflows.
"""

import os
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from tasks.runtime.caching import Steps
from tasks.runtime.progress import stop_stages

__all__ = ["SIDE_BY_SIDE", "Steps", "results_of"]

T = TypeVar("T")

# As many at once as there are cores, and four at most: each may take the memory that a search has.
SIDE_BY_SIDE = cast(
    "TaskRunner[PrefectFuture[Any]]", ThreadPoolTaskRunner(max_workers=min(4, os.cpu_count() or 1))
)


def results_of(futures: Sequence[PrefectFuture[T]]) -> list[T]:
    """Return the results of stages that run side by side.

    An error of one is raised once the others have ended; an interrupt ends them all.
    """
    try:
        for future in futures:
            future.wait()
    except BaseException:
        stop_stages()
        raise
    return [future.result() for future in futures]
