"""Prefect tasks on Ray's workers, within the flow that submits them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Generic, Self, TypeVar, cast
from uuid import UUID

import ray
from httpx import HTTPError
from prefect import Task
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import RunInput, State, TaskRunResult
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled
from prefect_ray import RayTaskRunner
from prefect_ray.context import remote_options
from prefect_ray.task_runners import PrefectRayFuture

from infra.ray import translate_ray_errors

R = TypeVar("R")

_LOST = (
    "a Ray worker was lost: {}; what is finished is stored: run the same command again (a smaller "
    "COSQA_ANNOTATION__IN_FLIGHT needs less memory)"
)


class RayTasks(Generic[R]):
    """Runs of one Prefect task on Ray's workers, as a context: it leaves none at work.

    Args:
        task: The task.
        asked: Name of a resource → what each run asks Ray for; ``CPU`` among them.
        after: States of the tasks that each run stands behind in Prefect's graph.
        release: Called with the id of each run that has ended.
    """

    def __init__(
        self,
        task: Task[..., Any],
        asked: Mapping[str, float],
        after: Iterable[State[Any]],
        release: Callable[[str], object],
    ) -> None:
        self._task = task
        self._release = release
        others = {name: number for name, number in asked.items() if name != "CPU"}
        self._options = {"num_cpus": asked["CPU"], "resources": others}
        self._after: set[RunInput] = set()
        for state in after:
            task_run_id = state.state_details.task_run_id
            assert task_run_id  # noqa: S101 - a task's
            self._after.add(TaskRunResult(id=task_run_id))
        self._runner: RayTaskRunner[R] = RayTaskRunner()
        self._running: dict[Any, PrefectRayFuture[R]] = {}

    def __enter__(self) -> Self:
        self._runner.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """End runs that wait for room or for their next try, and tell Prefect."""
        references = list(self._running)
        for reference in references:  # one that sleeps until its next try hears only its end
            ray.cancel(reference, force=True)
        if references:
            ended: State[None] = Cancelled(message="the run has ended")
            with get_client(sync_client=True) as client:
                for reference in references:
                    future = self._running.pop(reference)
                    self._release(str(future.task_run_id))
                    with suppress(ObjectNotFound, HTTPError):  # most have not begun
                        client.set_task_run_state(future.task_run_id, ended, force=True)
        self._runner.__exit__(*error)

    def __len__(self) -> int:
        """Return the number of runs that have not ended."""
        return len(self._running)

    def submit(self, **parameters: object) -> UUID:
        """Start a run once there is room; return its id."""
        drawn = dict.fromkeys(list(parameters)[:1], self._after)
        with remote_options(**self._options):
            future: PrefectRayFuture[R] = self._runner.submit(
                self._task, parameters, dependencies=drawn
            )
        self._running[future.wrapped_future] = future
        run: UUID = future.task_run_id
        return run

    def ended(self, timeout_s: float) -> Iterator[R]:
        """Yield the results of runs that have ended, after a wait for the first of them.

        Also where a run has failed with a result. It asks Ray: Prefect's futures would ask
        Prefect's server each time.

        Raises:
            WorkerLostError: A worker's process died, and so did those of all of Ray's tries.
            Exception: What a run has raised.
        """
        with translate_ray_errors(_LOST):
            references = list(self._running)
            ended, _ = ray.wait(references, num_returns=1, timeout=timeout_s)
            if len(ended) < len(references):
                ended, _ = ray.wait(references, num_returns=len(references), timeout=0)
        for reference in ended:
            yield self._result_of(reference)

    def interrupt(self, wait_s: float) -> Iterator[R]:
        """Interrupt all runs; yield the results of those that end within some seconds."""
        references = list(self._running)
        for reference in references:
            ray.cancel(reference)
        ended, _ = ray.wait(references, num_returns=len(references), timeout=wait_s)
        for reference in ended:
            with suppress(Exception):  # it had not begun
                yield self._result_of(reference)

    def _result_of(self, reference: Any) -> R:  # noqa: ANN401 - Ray's
        """Return the result of a run that has ended, or raise its error."""
        future = self._running.pop(reference)
        self._release(str(future.task_run_id))
        with translate_ray_errors(_LOST):
            result: object = future.result(raise_on_failure=False)
        if isinstance(result, Exception):
            raise result
        return cast("R", result)


def cores() -> float:
    """Return the cores of the Ray cluster."""
    known: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return known.get("CPU", 0.0)


def room_for(asked: Mapping[str, float]) -> str:
    """Describe a run's needs on one node of the cluster, and what of it is free in all."""
    free: dict[str, float] = ray.available_resources()  # type: ignore[no-untyped-call]
    return (
        f"each needs {' and '.join(f'{number:g} {name}' for name, number in asked.items())} on one "
        "node of the Ray cluster, where "
        + " and ".join(f"{free.get(name, 0):g} {name}" for name in asked)
        + " are free in all"
    )
