"""Ray's actors and how work is handed to them: the one file of the stages that knows Ray.

Workers never see the store. They take texts or pairs and give back vectors or annotations; the
flow's process writes.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import ray
from ray.exceptions import RayError, RayTaskError

from infra.errors import CosqaError, EncoderError
from infra.records import Annotation
from infra.settings import EncoderSettings
from tasks.encoders import Kind, encoders

Vectors = npt.NDArray[np.float32]


class Embedder:
    """The actor that holds one encoder and embeds batches of texts with it."""

    def __init__(self, encoder: str, threads: int, batch_size: int) -> None:
        import torch  # noqa: PLC0415 - heavy, and needed on workers only

        torch.set_num_threads(threads)
        self._encoder = encoders.get(encoder)()
        self._batch_size = batch_size

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Return (n, d) vectors of unit length."""
        return self._encoder.encode(texts, kind, batch_size=self._batch_size)


def embed_shards(
    encoder: str, shards: Sequence[tuple[Kind, Sequence[str]]], settings: EncoderSettings
) -> Iterator[tuple[int, Vectors]]:
    """Yield (number of the shard, its vectors) as actors finish them, in no fixed order.

    One actor takes a GPU, where the cluster has any; else each takes an equal part of the cores.
    No more shards are in flight than keep the actors busy, so that memory stays bounded.

    Args:
        encoder: A registered encoder.
        shards: What the texts are, and the texts.
        settings: How many actors and how large batches.

    Raises:
        EncoderError: The encoder cannot be loaded, or an actor died.
    """
    actors = _actors(encoder, len(shards), settings)
    waiting = iter(enumerate(shards))
    in_flight: dict[Any, tuple[int, Any]] = {}
    idle = [actor for actor in actors for _ in range(2)]
    try:
        while True:
            while idle and (piece := next(waiting, None)) is not None:
                number, (kind, texts) = piece
                actor = idle.pop()
                in_flight[actor.embed.remote(texts, kind)] = (number, actor)
            if not in_flight:
                return
            ready, _ = ray.wait(list(in_flight), num_returns=1)
            number, actor = in_flight.pop(ready[0])
            idle.append(actor)
            yield number, _result(ready[0], encoder)
    finally:
        for actor in actors:
            ray.kill(actor)


def _actors(encoder: str, shards: int, settings: EncoderSettings) -> list[Any]:
    offered = ray.cluster_resources()  # type: ignore[no-untyped-call]
    gpus, cores = int(offered.get("GPU", 0)), int(offered.get("CPU", 1))
    number = min(settings.actors or gpus or min(cores, 8), max(1, shards))
    threads = max(1, cores // number)
    options: dict[str, Any] = {"num_gpus": 1} if gpus else {"num_cpus": threads}
    return [
        ray.remote(**options)(Embedder).remote(encoder, threads, settings.batch_size)
        for _ in range(number)
    ]


def _result(reference: Any, encoder: str) -> Vectors:  # noqa: ANN401 - Ray's own type is opaque
    try:
        vectors: Vectors = ray.get(reference)
    except RayTaskError as error:
        cause = error.cause
        raise (
            cause
            if isinstance(cause, CosqaError)
            else EncoderError(f"encoder {encoder!r} failed on a worker: {error}")
        ) from error
    except RayError as error:
        raise EncoderError(
            f"a worker with encoder {encoder!r} died: {error}; fewer actors "
            "(COSQA_ENCODER__ACTORS) need less memory"
        ) from error
    return vectors


class Letterbox:
    """The actor that takes annotations from the shards the moment they are made."""

    def __init__(self) -> None:
        self._waiting: list[Annotation] = []
        self._finished: set[tuple[str, str]] = set()
        self._open = True

    def put(self, annotation: Annotation) -> bool:
        """Take one annotation; tell whether more are wanted."""
        self._waiting.append(annotation)
        if annotation.status != "failed":
            self._finished.add((annotation.query_id, annotation.code_id))
        return self._open

    def close(self) -> None:
        """Want no more; what is on its way is still taken."""
        self._open = False

    def drain(self) -> list[Annotation]:
        """Give away what has come in since the last call."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def finished(self) -> set[tuple[str, str]]:
        """Return (query, code) of all finished pairs that came in, for a shard that is retried."""
        return self._finished


class Mailbox:
    """A shard's way to the flow's process; it can be sent to workers."""

    def __init__(self) -> None:
        self._actor: Any = ray.remote(num_cpus=0)(Letterbox).remote()

    def put(self, annotation: Annotation) -> bool:
        """Send one annotation; return, when it has arrived, whether more are wanted."""
        return bool(ray.get(self._actor.put.remote(annotation)))

    def close(self) -> None:
        """Want no more annotations."""
        ray.get(self._actor.close.remote())

    def drain(self) -> list[Annotation]:
        """Return what has come in since the last call."""
        return list(ray.get(self._actor.drain.remote()))

    def finished(self) -> set[tuple[str, str]]:
        """Return (query, code) of all finished pairs that came in."""
        return set(ray.get(self._actor.finished.remote()))
