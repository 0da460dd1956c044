"""Exchange between the flow's process and Ray workers: pairs, annotations, results of shards."""

from collections.abc import Iterable, Sequence
from typing import Any

import ray
from prefect.futures import PrefectFuture
from ray.exceptions import RayError, RayTaskError

from infra.errors import WorkerLostError
from infra.ids import PairKey
from infra.records import Annotation, Pair


def cluster_cores() -> int:
    """Return the number of cores of the cluster; Ray must be connected."""
    resources = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(resources.get("CPU", 1)))


class StoredPairs:
    """Pairs in Ray's object store, sent to a worker by reference.

    Neither a tuple nor a dataclass: Prefect would traverse those and store the pairs themselves as
    a task's parameters.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._reference: Any = ray.put(tuple(pairs))

    def load(self) -> Sequence[Pair]:
        """Return the pairs."""
        pairs: Sequence[Pair] = ray.get(self._reference)
        return pairs


def ended_futures(
    futures: Sequence[PrefectFuture[int]], timeout_s: float
) -> list[PrefectFuture[int]]:
    """Return the futures that have ended, after waiting at most ``timeout_s`` for the first.

    It queries Ray: ``future.state`` would send a request to Prefect's server each time.
    """
    future_of = {future.wrapped_future: future for future in futures}  # type: ignore[attr-defined]
    ready, _ = ray.wait(list(future_of), num_returns=1, timeout=timeout_s)
    others, _ = ray.wait(list(future_of), num_returns=len(future_of), timeout=0)
    return [future_of[reference] for reference in dict.fromkeys([*ready, *others])]


def shard_result(future: PrefectFuture[int]) -> int:
    """Return the result of a shard that has ended, or raise its error.

    Raises:
        WorkerLostError: The worker's process died, and so did those of all retries.
    """
    try:
        return future.result()
    except RayTaskError:
        raise
    except RayError as error:
        raise WorkerLostError(
            f"a Ray worker that judged pairs died: {error}; finished pairs are stored: run the "
            "same command again (a smaller COSQA_ANNOTATION__CONCURRENCY needs less memory)"
        ) from error


class RayAnnotationQueue:
    """The queue by which workers send annotations to the flow's process.

    It has an actor of its own in place of ``ray.util.queue.Queue``: one round trip sends an
    annotation and returns whether more are wanted, and a shard that is retried can ask which of its
    pairs have arrived. Ray's queue offers neither, and draining it takes two round trips.
    """

    def __init__(self) -> None:
        self._actor: Any = ray.remote(num_cpus=0)(_QueueActor).remote()

    def put(self, annotation: Annotation) -> bool:
        """Send one annotation and wait until it has arrived; return whether more are wanted."""
        return bool(ray.get(self._actor.put.remote(annotation)))

    def drain(self) -> list[Annotation]:
        """Return the annotations that have arrived since the last call."""
        return list(ray.get(self._actor.drain.remote()))

    def wanted(self, keys: Sequence[PairKey]) -> set[PairKey]:
        """Return the keys whose finished annotations have not arrived; none once it is closed."""
        return set(ray.get(self._actor.wanted.remote(keys)))

    def discard(self, keys: Sequence[PairKey]) -> None:
        """Remove the keys of a shard that has ended and is not retried, to bound memory."""
        self._actor.discard.remote(keys)

    def close(self) -> None:
        """Stop asking for annotations; those in flight are still accepted."""
        ray.get(self._actor.close.remote())


class _QueueActor:
    """The Ray actor that keeps annotations until the flow's process drains them."""

    def __init__(self) -> None:
        self._waiting: list[Annotation] = []
        self._finished: set[PairKey] = set()
        self._open = True

    def put(self, annotation: Annotation) -> bool:
        self._waiting.append(annotation)
        if annotation.status != "failed":
            self._finished.add(annotation.key)
        return self._open

    def drain(self) -> list[Annotation]:
        waiting, self._waiting = self._waiting, []
        return waiting

    def wanted(self, keys: Iterable[PairKey]) -> set[PairKey]:
        return set(keys) - self._finished if self._open else set()

    def discard(self, keys: Iterable[PairKey]) -> None:
        self._finished.difference_update(keys)

    def close(self) -> None:
        self._open = False
