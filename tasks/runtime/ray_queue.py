"""Exchange between the flow's process and Ray workers: pairs, annotations, results of judges."""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Self

import ray
from httpx import HTTPError
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.exceptions import ObjectNotFound
from prefect.futures import PrefectFuture
from prefect.states import Cancelled
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from infra.errors import WorkerLostError
from infra.ray import signals_as_raised
from infra.records import Annotation, Pair
from tasks.runtime.pair_queue import Arrived, Handed, PairQueue, Work

_GO_ON = "finished pairs are stored: run the same command again"


def room_for(resources: Iterable[str]) -> str:
    """Say what a task of one core and one of each resource needs, and what of it is free."""
    free = ray.available_resources()  # type: ignore[no-untyped-call]
    names = ("CPU", *resources)
    needed = " and ".join(f"1 {name}" for name in names)
    return (
        f"each needs {needed} on one node of the Ray cluster, where "
        + " and ".join(f"{free.get(name, 0):g} {name}" for name in names)
        + " are free in all"
    )


def ended_futures(
    futures: Sequence[PrefectFuture[int]], timeout_s: float
) -> list[PrefectFuture[int]]:
    """Return the futures that have ended, after waiting at most ``timeout_s`` for the first.

    It queries Ray: ``future.state`` would send a request to Prefect's server each time.
    """
    future_of = {future.wrapped_future: future for future in futures}  # type: ignore[attr-defined]
    with _explained("the Ray cluster"):
        ready, _ = ray.wait(list(future_of), num_returns=1, timeout=timeout_s)
        others, _ = ray.wait(list(future_of), num_returns=len(future_of), timeout=0)
    return [future_of[reference] for reference in dict.fromkeys([*ready, *others])]


def end_futures(futures: Sequence[PrefectFuture[int]]) -> None:
    """End judges that wait for room on the cluster or for their next try, and tell Prefect."""
    for future in futures:  # a process that sleeps until its next try hears nothing but its end
        ray.cancel(future.wrapped_future, force=True)  # type: ignore[attr-defined]
    ended: State[None] = Cancelled(
        message="other judges have judged all pairs, or the run is ending"
    )
    with get_client(sync_client=True) as client:
        for future in futures:
            with suppress(ObjectNotFound, HTTPError):  # most have not begun
                client.set_task_run_state(future.task_run_id, ended, force=True)


def judge_result(future: PrefectFuture[int]) -> int:
    """Return the result of a judge that has ended, or raise its error.

    Raises:
        WorkerLostError: The worker's process died, and so did those of all retries.
    """
    try:
        return future.result()
    except RayTaskError:
        raise
    except RayError as error:
        raise WorkerLostError(
            f"a Ray worker that judged pairs died: {error}; {_GO_ON} (a smaller "
            "COSQA_ANNOTATION__IN_FLIGHT needs less memory)"
        ) from error


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Turn the loss of a part of Ray into this project's error."""
    try:
        with signals_as_raised():
            yield
    except RayError as error:
        raise WorkerLostError(f"{what} was lost: {error}; {_GO_ON}") from error


class Returned(NamedTuple):
    """What a flow receives: `Arrived` with its annotations unpacked."""

    annotations: list[Annotation]
    waiting: int
    judging: int
    told: list[str]


class RayPairQueue:
    """The queue of pairs as a Ray actor on the flow's own node, which outlives all others.

    Pairs and annotations pass through it as bytes: it spends no time on reading them. As a context
    it ends the actor, which else lives as long as any process of Ray's remembers it.

    Args:
        in_flight: Pairs that all judges together judge at once.
    """

    def __init__(self, in_flight: int) -> None:
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        actor: Any = ray.remote(PairQueue)
        self._actor = actor.options(num_cpus=0, scheduling_strategy=here).remote(in_flight)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._actor.__ray_terminate__.remote()

    def offer(self, pairs: Iterable[Pair], *, is_last: bool) -> Returned:
        """Add pairs; return the annotations since the last call, and how many pairs are left.

        Raises:
            WorkerLostError: The queue's process died.
        """
        items = [(pair.key, pickle.dumps(pair)) for pair in pairs]
        with _explained("the queue of pairs"):
            arrived: Arrived = ray.get(self._actor.offer.remote(items, is_last=is_last))
        annotations = [_read(content) for _, content in arrived.items]
        return Returned(annotations, arrived.waiting, arrived.judging, arrived.told)

    def judges(self) -> frozenset[int]:
        """Return the judges that take part."""
        with _explained("the queue of pairs"):
            judges: frozenset[int] = ray.get(self._actor.judges.remote())
        return judges

    def leave(self, judge: int) -> None:
        """Let what a judge that has ended holds wait again."""
        self._actor.leave.remote(judge)

    def close(self) -> None:
        """Hand out no more pairs; annotations of those in flight are still accepted."""
        self._actor.close.remote()

    def as_judge(self, number: int) -> "JudgeEnd":
        """Return the end of the queue for a judge, which takes part from now on."""
        # Not awaited: while a task waits for Ray, Ray lends its core to another of the same node.
        self._actor.join.remote(number)
        return JudgeEnd(self._actor, number)


class JudgeEnd:
    """A judge's end of the queue; see `tasks.stages.annotate.desk.PairSource`."""

    def __init__(self, actor: Any, number: int) -> None:  # noqa: ANN401 - Ray's handle
        self._actor = actor
        self._number = number

    async def leave(self, why: str) -> None:
        """Let other judges have the pairs, and say why."""
        with _explained("the queue of pairs"):
            await self._actor.leave.remote(self._number, why)

    async def exchange(self, finished: Sequence[Annotation], *, wants: bool) -> Work:
        """Send annotations; return pairs to judge.

        Raises:
            WorkerLostError: The queue's process died.
        """
        items = [(item.key, pickle.dumps(item)) for item in finished]
        with _explained("the queue of pairs"):
            handed: Handed = await self._actor.exchange.remote(self._number, items, wants=wants)
        pairs = [_read(content) for _, content in handed.items]
        return Work(pairs, handed.places, handed.is_ended)


def _read(content: object) -> Any:  # noqa: ANN401 - what this module has pickled
    assert isinstance(content, bytes)  # noqa: S101 - see `RayPairQueue`
    return pickle.loads(content)  # noqa: S301 - from this run's own processes
