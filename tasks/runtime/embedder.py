"""Ray actors that embed shards of texts."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import ray
from ray.exceptions import RayError, RayTaskError

from infra.errors import CosqaError, EncoderError
from infra.settings import EncoderSettings
from tasks.encoders import Encoder, EncoderClass, Kind, encoders

Vectors = npt.NDArray[np.float32]

_BATCH_ON_CPU, _BATCH_ON_GPU = 8, 64  # on a core, 8 of similar length are 20% faster than 32
_FEWEST_TEXTS = 400  # loading an encoder takes a core about as long as embedding this many texts


class Embedder:
    """A Ray actor that embeds batches of texts with one encoder.

    The encoder is loaded with the first batch, so that its own error reaches the caller.

    Args:
        encoder: Name of a registered encoder, or the class behind a reference.
        threads: Number of cores to use.
        batch_size: Number of texts in one forward pass; 0 chooses by device.
    """

    def __init__(self, encoder: str | EncoderClass, threads: int, batch_size: int) -> None:
        import torch  # noqa: PLC0415 - heavy, and needed on workers only

        torch.set_num_threads(threads)
        self._class = encoders.get(encoder) if isinstance(encoder, str) else encoder
        self._encoder: Encoder | None = None
        self._batch_size = batch_size or (
            _BATCH_ON_GPU if torch.cuda.is_available() else _BATCH_ON_CPU
        )

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Return (n, d) vectors of unit length."""
        self._encoder = self._encoder or self._class()
        return self._encoder.encode(texts, kind, batch_size=self._batch_size)


def embed_shards(
    encoder: str, shards: Sequence[tuple[Kind, Sequence[str]]], settings: EncoderSettings
) -> Iterator[tuple[int, Vectors]]:
    """Yield (number of the shard, its vectors) as actors finish them, in no fixed order.

    Each actor takes a GPU if the cluster has any, else an equal part of the cores. Few texts get
    few actors, since each loads the encoder first. At most two shards an actor are in flight, so
    that memory stays bounded.

    Args:
        encoder: Name of an encoder.
        shards: The texts of each shard, and whether they are queries or codes.
        settings: Number of actors and size of batches.

    Raises:
        EncoderError: The encoder cannot be loaded, or an actor died.
    """
    actors = _actors(encoder, [len(texts) for _, texts in shards], settings)
    waiting = iter(enumerate(shards))
    in_flight: dict[Any, tuple[int, Any]] = {}
    idle = [actor for actor in actors for _ in range(2)]
    try:
        while True:
            while idle and (shard := next(waiting, None)) is not None:
                number, (kind, texts) = shard
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


def number_of_actors(maximum: int, sizes: Sequence[int]) -> int:
    """Return the number of actors to start: few texts are not worth loading many encoders.

    Args:
        maximum: The largest number allowed.
        sizes: Number of texts in each shard; an actor takes whole shards.
    """
    worth = max(1, sum(sizes) // _FEWEST_TEXTS)
    return min(maximum, worth, max(1, len(sizes)))


def _actors(encoder: str, sizes: Sequence[int], settings: EncoderSettings) -> list[Any]:
    resources = ray.cluster_resources()  # type: ignore[no-untyped-call]
    gpus, cores = int(resources.get("GPU", 0)), int(resources.get("CPU", 1))
    number = number_of_actors(settings.actors or gpus or min(cores, 8), sizes)
    threads = max(1, cores // number)
    options: dict[str, Any] = {"num_gpus": 1} if gpus else {"num_cpus": threads}
    # Another process knows the registered names, but not those that stand for references.
    known = encoder if encoders.is_pinned(encoder) else encoders.get(encoder)
    return [
        ray.remote(**options)(Embedder).remote(known, threads, settings.batch_size)
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
