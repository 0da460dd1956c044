"""What the flow's process and its Ray workers exchange: pairs, annotations and ends of shards."""

from collections.abc import Iterable, Sequence
from typing import Any

import ray
from prefect.futures import PrefectFuture
from ray.exceptions import RayError, RayTaskError

from infra.errors import WorkerLostError
from infra.ids import PairKey
from infra.records import Annotation, Pair


def cluster_cores() -> int:
    """Return how many cores the cluster has; Ray must be connected."""
    resources = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(resources.get("CPU", 1)))


class StoredPairs:
    """Pairs in Ray's object store, sent to a worker by reference.

    Neither a tuple nor a dataclass: Prefect would look into those and put the pairs themselves
    among a task's parameters.
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
    """Return those of prefect-ray's futures that have ended, waiting for one that long at most.

    Ray is asked and not Prefect's server, of which ``future.state`` is a request each time.
    """
    of_reference = {future.wrapped_future: future for future in futures}  # type: ignore[attr-defined]
    ready, _ = ray.wait(list(of_reference), num_returns=1, timeout=timeout_s)
    others, _ = ray.wait(list(of_reference), num_returns=len(of_reference), timeout=0)
    return [of_reference[reference] for reference in dict.fromkeys([*ready, *others])]


def shard_result(future: PrefectFuture[int]) -> int:
    """Return what a shard that has ended returned, or raise its error.

    Raises:
        WorkerLostError: The worker's process died, and so did the ones that tried again.
    """
    try:
        return future.result()
    except RayTaskError:
        raise
    except RayError as error:
        raise WorkerLostError(
            f"a Ray worker that judged pairs died: {error}; what was judged is stored: run the "
            "same command again (a smaller COSQA_ANNOTATION__CONCURRENCY needs less memory)"
        ) from error


class RayAnnotationQueue:
    """The queue by which workers send annotations to the flow's process.

    It has an actor of its own instead of ``ray.util.queue.Queue``: one round trip hands an
    annotation over and says whether more are wanted, and a shard that is tried again learns which
    of its pairs have arrived; Ray's queue knows neither, and emptying it takes two round trips.
    """

    def __init__(self) -> None:
        self._actor: Any = ray.remote(num_cpus=0)(_QueueActor).remote()

    def put(self, annotation: Annotation) -> bool:
        """Send one annotation; return, when it has arrived, whether more are wanted."""
        return bool(ray.get(self._actor.put.remote(annotation)))

    def drain(self) -> list[Annotation]:
        """Return what has come in since the last call."""
        return list(ray.get(self._actor.drain.remote()))

    def wanted(self, keys: Sequence[PairKey]) -> set[PairKey]:
        """Return those of the keys that have not come in finished; none once it is closed."""
        return set(ray.get(self._actor.wanted.remote(keys)))

    def forget(self, keys: Sequence[PairKey]) -> None:
        """Forget that pairs have come in; nobody will ask for them again."""
        self._actor.forget.remote(keys)

    def close(self) -> None:
        """Want no more annotations; those in flight are still taken."""
        ray.get(self._actor.close.remote())


class _QueueActor:
    """Holds annotations until the flow's process fetches them."""

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

    def forget(self, keys: Iterable[PairKey]) -> None:
        self._finished.difference_update(keys)

    def close(self) -> None:
        self._open = False
