"""Ray actors that embed batches of texts."""

import os
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from infra.errors import CosqaError, EncoderError, EncoderUnavailableError
from infra.settings import EncoderSettings, RaySettings
from tasks.encoders import Encoder, EncoderClass, Kind, Vectors, encoders, split_dtype
from tasks.runtime.placement import Node, Place, places_for
from tasks.runtime.run_logger import run_logger

_IN_FLIGHT = 2  # batches of an actor: one is computed while the next is on its way
_MOST_DEATHS = 3  # of actors over one batch, or before a first batch
_POLL_S = 2.0


class Embedder:
    """A Ray actor that embeds batches of texts with one encoder.

    The encoder is loaded with the first batch, so that its own error reaches the caller.

    Args:
        encoder: Name of a registered encoder, or the class behind a reference.
        threads: Number of cores to use.
        batch_size: Most texts in one forward pass; 0 lets the encoder cut by tokens.
        gpus: The share of a GPU that it holds; without one it sees none.
    """

    def __init__(
        self, encoder: str | EncoderClass, threads: int, batch_size: int, gpus: float
    ) -> None:
        self._class = encoders.get(encoder) if isinstance(encoder, str) else encoder
        self._encoder: Encoder | None = None
        self._threads = threads
        self._batch_size = batch_size
        self._gpus = gpus

    def ready(self) -> None:
        """Answer, which shows that the actor has been placed."""

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Return (n, d) vectors of unit length."""
        if self._encoder is None:
            if not self._gpus:  # Ray hides no GPU from work that asked for none
                os.environ["CUDA_VISIBLE_DEVICES"] = ""
            import torch  # noqa: PLC0415 - heavy, and needed on workers only

            torch.set_num_threads(self._threads)
            self._encoder = self._class()
        return self._encoder.encode(texts, kind, batch_size=self._batch_size)


def embed_batches(
    encoder: str,
    batches: Iterable[tuple[Kind, Sequence[str]]],
    texts: int,
    settings: EncoderSettings,
    ray_settings: RaySettings,
) -> Iterator[tuple[int, Vectors]]:
    """Yield (number of the batch, its vectors) as actors finish them, in no fixed order.

    An actor gets its next batch before the vectors of the last one are yielded, and has at most two
    at once, so that memory stays bounded. The batches of an actor that dies are given to others,
    and another takes its place where there is room.

    Args:
        encoder: Name of an encoder.
        batches: The texts of each batch, and whether they are queries or codes.
        texts: Number of all texts.
        settings: Number of actors and size of batches.
        ray_settings: How long to wait until an actor is placed.

    Raises:
        EncoderError: The encoder cannot be loaded.
        EncoderUnavailableError: Its actors die, or none can be placed.
    """
    pool = _Pool(encoder, texts, settings, ray_settings)
    try:
        yield from pool.run(batches)
    finally:
        pool.close()


@dataclass
class _Batch:
    number: int
    kind: Kind
    texts: Sequence[str]
    deaths: int = 0


@dataclass
class _Actor:
    handle: Any
    place: Place
    deadline: float
    is_placed: bool = False
    batches: deque[tuple[Any, _Batch]] = field(default_factory=deque)  # the first is computed


# The pools of this process that have an actor: encoders may be at work side by side.
_at_work: "set[_Pool]" = set()


class _Pool:
    """The actors of one encoder, and the batches that they are working on."""

    def __init__(
        self, encoder: str, texts: int, settings: EncoderSettings, ray_settings: RaySettings
    ) -> None:
        self._encoder = encoder
        self._settings = settings
        self._patience_s = ray_settings.placement_timeout_s
        self._logger = run_logger(__name__)
        self._waiting: Iterator[_Batch] = iter(())
        self._again: deque[_Batch] = deque()
        self._failed_starts = 0
        self._texts = texts
        self._actors: list[_Actor] = []
        self._starting: dict[Any, _Actor] = {}
        for place in self._places():
            self._start(place)
        self._most_failed_starts = _MOST_DEATHS * len(self._actors)

    def run(self, batches: Iterable[tuple[Kind, Sequence[str]]]) -> Iterator[tuple[int, Vectors]]:
        """Yield (number, vectors) of the batches."""
        self._waiting = (
            _Batch(number, kind, texts) for number, (kind, texts) in enumerate(batches)
        )
        while True:
            self._welcome_started()
            self._send()
            running = {ref: actor for actor in self._actors for ref, _ in actor.batches}
            if not running and not self._has_work():
                return
            self._check_placement()
            ready, _ = ray.wait([*running, *self._starting], num_returns=1, timeout=_POLL_S)
            for reference in running.keys() & ready:
                if (found := self._received(running[reference], reference)) is not None:
                    self._send()
                    yield found

    def close(self) -> None:
        """End all actors."""
        _at_work.discard(self)
        for actor in self._actors:
            ray.kill(actor.handle)

    def _has_work(self) -> bool:
        if not self._again and (batch := next(self._waiting, None)) is not None:
            self._again.append(batch)
        return bool(self._again)

    def _send(self) -> None:
        """Give each actor that has been placed up to two batches, the idle ones first."""
        for depth in range(_IN_FLIGHT):
            for actor in self._actors:
                if actor.is_placed and len(actor.batches) == depth and self._has_work():
                    batch = self._again.popleft()
                    reference = actor.handle.embed.remote(batch.texts, batch.kind)
                    actor.batches.append((reference, batch))

    def _received(self, actor: _Actor, reference: Any) -> tuple[int, Vectors] | None:  # noqa: ANN401
        """Return a batch's number and vectors, None where its actor died instead."""
        batch = next(batch for ref, batch in actor.batches if ref == reference)
        try:
            vectors: Vectors = ray.get(reference)
        except RayTaskError as error:
            raise self._failure(error) from error
        except RayError as error:
            self._bury(actor, error)
            return None
        actor.batches = deque(pair for pair in actor.batches if pair[0] != reference)
        return batch.number, vectors

    def _welcome_started(self) -> None:
        """Take note of all actors that have started, however busy the others are."""
        if starting := list(self._starting):
            for reference in ray.wait(starting, num_returns=len(starting), timeout=0)[0]:
                self._welcome(reference)

    def _welcome(self, reference: Any) -> None:  # noqa: ANN401 - Ray's own type is opaque
        actor = self._starting.pop(reference)
        try:
            ray.get(reference)
        except RayTaskError as error:
            raise self._failure(error) from error
        except RayError as error:
            self._bury(actor, error)
            return
        actor.is_placed = True
        _at_work.add(self)
        self._failed_starts = 0

    def _bury(self, actor: _Actor, error: RayError) -> None:
        """Take back a dead actor's batches, and start another in its place."""
        self._remove(actor)
        if getattr(error, "actor_init_failed", False):  # as the next one would
            raise EncoderError(
                f"a worker with encoder {self._encoder!r} cannot start: {error}\nevery node of the "
                "cluster needs this release of the project, with its packages, in Ray's Python"
            ) from error
        batches = [batch for _, batch in actor.batches]
        if batches:
            batches[0].deaths += 1  # the other was waiting
        else:
            self._failed_starts += 1
        deaths = max((batch.deaths for batch in batches), default=0)
        if deaths >= _MOST_DEATHS or self._failed_starts >= self._most_failed_starts:
            raise EncoderUnavailableError(
                f"workers with encoder {self._encoder!r} keep dying: {_first_line(error)}; what "
                "has been embedded is kept; fewer actors (COSQA_ENCODER__ACTORS) need less memory"
            ) from error
        self._again.extendleft(reversed(batches))
        self._logger.warning("a worker with encoder %s died and is replaced", self._encoder)
        taken = Counter(other.place.node for other in self._actors)
        for place in self._places():
            if not taken[place.node]:
                self._start(place)
                return
            taken[place.node] -= 1

    def _places(self) -> list[Place]:
        nodes = _live_nodes()
        if split_dtype(self._encoder)[1] == "int8":  # which only processors compute
            nodes = [node._replace(gpus=0.0) for node in nodes]
        return places_for(nodes, self._texts, self._settings)

    def _start(self, place: Place) -> None:
        # Where no number of cores is named, Ray takes one for work on a GPU.
        cores = 0 if place.gpus else place.threads
        # Another process knows the registered names, but not those that stand for references.
        known = self._encoder if encoders.is_pinned(self._encoder) else encoders.get(self._encoder)
        remote: Any = ray.remote(Embedder)
        handle = remote.options(
            num_gpus=place.gpus,
            num_cpus=cores,
            scheduling_strategy=NodeAffinitySchedulingStrategy(place.node, soft=True),
        ).remote(known, place.threads, self._settings.batch_size, place.gpus)
        actor = _Actor(handle, place, time.monotonic() + self._patience_s)
        self._actors.append(actor)
        self._starting[handle.ready.remote()] = actor

    def _remove(self, actor: _Actor) -> None:
        self._actors.remove(actor)
        self._starting = {ref: one for ref, one in self._starting.items() if one is not actor}
        ray.kill(actor.handle)

    def _check_placement(self) -> None:
        """Go on without actors that found no room in time.

        Raises:
            EncoderUnavailableError: No actor is left.
        """
        if self._starting and _at_work - {self}:  # other encoders of this run, which will end
            for actor in self._starting.values():
                actor.deadline = time.monotonic() + self._patience_s
        late = [
            actor
            for actor in self._actors
            if not actor.is_placed and time.monotonic() > actor.deadline
        ]
        for actor in late:
            self._remove(actor)
            needs = "a GPU" if actor.place.gpus else f"{actor.place.threads} cores"
            said = f"no room for a worker with {needs} within {self._patience_s:g} s"
            self._logger.warning("%s; %s go on", said, len(self._actors))
        if self._actors:
            return
        free = ray.available_resources()  # type: ignore[no-untyped-call]
        raise EncoderUnavailableError(
            f"no worker for encoder {self._encoder!r} found room on the Ray cluster within "
            f"{self._patience_s:g} s: {free.get('CPU', 0):g} cores and {free.get('GPU', 0):g} GPUs "
            f"are free on {len(_live_nodes())} nodes; end other work there, or wait longer "
            "(COSQA_RAY__PLACEMENT_TIMEOUT_S)"
        )

    def _failure(self, error: RayTaskError) -> CosqaError:
        """Return what to raise where an encoder itself failed."""
        if isinstance(error.cause, CosqaError):
            return error.cause
        told = f"encoder {self._encoder!r} failed on a worker: {error}"
        if "out of memory" in told:
            told += "\na smaller COSQA_ENCODER__BATCH_SIZE needs less memory, and a larger "
            told += "COSQA_ENCODER__GPU_SHARE leaves more to each worker"
        return EncoderError(told)


def _first_line(error: RayError) -> str:
    return str(error).partition("\n")[0].rstrip(".")


def _live_nodes() -> list[Node]:
    return [
        Node(
            name=str(node["NodeID"]),
            cores=int(node["Resources"].get("CPU", 0)),
            gpus=float(node["Resources"].get("GPU", 0)),
        )
        for node in ray.nodes()  # type: ignore[no-untyped-call]
        if node["Alive"]
    ]
