"""Ray actors that embed batches of texts."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import ray
from ray.exceptions import RayError, RayTaskError

from infra.errors import CosqaError, EncoderError, EncoderUnavailableError
from infra.ray import signals_as_raised
from infra.settings import EncoderSettings, RaySettings
from tasks.encoders import Encoder, EncoderClass, Kind, Vectors, encoders
from tasks.runtime.progress import raise_if_stopped
from tasks.runtime.run_logger import run_logger

_POLL_S = 1.0  # between looks whether the run was stopped
_IN_FLIGHT = 2  # batches of an actor: one is computed while the next is on its way
_MOST_DEATHS = 3  # of one actor; Ray starts it again and sends it its batches again
_MOST_ON_A_NODE = 8  # where no number of actors is set
_FEWEST_TEXTS = 400  # loading an encoder takes a core about as long as embedding this many texts
_ROUNDING = 1e-9

Batches = Iterable[tuple[Kind, Sequence[str]]]


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
        """Return (n, d) vectors."""
        if self._encoder is None:
            if not self._gpus:  # Ray hides no GPU from work that asked for none
                os.environ["CUDA_VISIBLE_DEVICES"] = ""
            import torch  # noqa: PLC0415 - heavy, and needed on workers only

            torch.set_num_threads(self._threads)
            self._encoder = self._class()
        return self._encoder.encode(texts, kind, batch_size=self._batch_size)


class Node(NamedTuple):
    """A live node of the cluster, with all its cores and GPUs."""

    cores: int
    gpus: float


class Workers(NamedTuple):
    """The actors to ask for.

    Attributes:
        number: How many.
        cores: The cores of each: how many threads compute.
        gpus: The share of a GPU of each; 0 where cores compute.
    """

    number: int
    cores: int
    gpus: float

    @property
    def needs(self) -> str:
        """What each needs of its node, in words."""
        return f"{self.gpus:g} GPU" if self.gpus else f"{self.cores} cores"

    def fit(self, node: Node) -> bool:
        """Return whether one fits a node where nothing else runs."""
        return node.gpus >= self.gpus if self.gpus else node.cores >= self.cores


def workers_for(nodes: Sequence[Node], texts: int, settings: EncoderSettings) -> Workers:
    """Return the actors to ask for: as many as are set, or as the nodes have room for.

    If any node has a GPU, only GPUs compute: a core beside them would be the last to finish. Few
    texts get few actors, since each loads the encoder first.

    Args:
        nodes: The cluster's live nodes.
        texts: Number of texts to embed.
        settings: Number of actors, and the share of a GPU for each.
    """
    share = settings.gpu_share or float(any(node.gpus for node in nodes))
    if share:  # which is of one GPU
        places = [int(node.gpus + _ROUNDING) * int(1 / share + _ROUNDING) for node in nodes]
        room = sum(places)
    else:
        places = [node.cores for node in nodes]
        room = sum(min(node.cores, _MOST_ON_A_NODE) for node in nodes)
    number = min(settings.actors or room or 1, max(1, texts // _FEWEST_TEXTS))
    most = max((node.cores for node in nodes), default=0)
    fitting = (
        cores
        for cores in range(most, 1, -1)
        if sum(map(min, (node.cores // cores for node in nodes), places)) >= number
    )
    return Workers(number, next(fitting, 1), share)


def embed_batches(
    encoder: str, batches: Batches, texts: int, settings: EncoderSettings, ray_settings: RaySettings
) -> Iterator[tuple[int, Vectors]]:
    """Yield (number of the batch, its vectors) as actors finish them, in no fixed order.

    An actor gets its next batch before the vectors of the last one are yielded, and has at most two
    at once, so that memory stays bounded. Those that find no room yet are waited for while others
    work, so that Ray asks for nodes where it can. One that dies is started again by Ray, wherever
    there is room, with the batches that it had.

    Args:
        encoder: Name of an encoder.
        batches: The texts of each batch, and whether they are queries or codes.
        texts: Number of all texts.
        settings: Number of actors and size of batches.
        ray_settings: How long none may find room before that is said.

    Raises:
        EncoderError: The encoder cannot be loaded, or failed.
        EncoderUnavailableError: An actor keeps dying, or none will ever find room.
    """
    waiting = iter(batches)
    if (first := next(waiting, None)) is None:
        return
    pool = _Pool(encoder, texts, settings, ray_settings)
    try:
        yield from pool.run(chain([first], waiting))
    finally:
        pool.close()


class _Pool:
    """The actors of one encoder, and their calls.

    The first call of each is answered once it has been placed. One that has nothing more to do is
    ended at once: its room may be what another, which Ray starts again, is waiting for.
    """

    def __init__(
        self, encoder: str, texts: int, settings: EncoderSettings, ray_settings: RaySettings
    ) -> None:
        self._encoder = encoder
        self._ray = ray_settings
        self._workers = workers = workers_for(live_nodes(), texts, settings)
        # Another process knows the registered names, but not those that stand for references.
        known = encoder if encoders.is_pinned(encoder) else encoders.get(encoder)
        remote: Any = ray.remote(Embedder)
        start = remote.options(
            num_gpus=workers.gpus,
            # Where no number of cores is named, Ray takes one for work on a GPU.
            num_cpus=0 if workers.gpus else workers.cores,
            scheduling_strategy="SPREAD",
            max_restarts=_MOST_DEATHS,
            max_task_retries=_MOST_DEATHS,
        ).remote
        self._actors: dict[int, Any] = {
            number: start(known, workers.cores, settings.batch_size, workers.gpus)
            for number in range(workers.number)
        }
        self._calls: dict[Any, tuple[int, int | None]] = {  # actor, number of the batch
            actor.ready.remote(): (number, None) for number, actor in self._actors.items()
        }

    def run(self, batches: Batches) -> Iterator[tuple[int, Vectors]]:
        """Yield (number, vectors) of the batches."""
        waiting = enumerate(batches)
        silent_s = 0.0
        while self._calls:
            with signals_as_raised():
                ready, _ = ray.wait(list(self._calls), num_returns=1, timeout=_POLL_S)
            raise_if_stopped()
            silent_s = 0.0 if ready else silent_s + _POLL_S
            if silent_s >= self._ray.placement_timeout_s:
                self._tell_of_room()
                silent_s = 0.0
            for reference in ready:
                actor, number = self._calls.pop(reference)
                vectors = self._result(reference)
                self._send(actor, waiting)
                if number is not None:
                    yield number, vectors

    def close(self) -> None:
        """End all actors."""
        for actor in self._actors.values():
            ray.kill(actor)

    def _send(self, actor: int, waiting: Iterator[tuple[int, tuple[Kind, Sequence[str]]]]) -> None:
        """Give an actor up to two batches; where none is left, end those with nothing to do."""
        held = sum(owner == actor for owner, _ in self._calls.values())
        for number, (kind, texts) in islice(waiting, _IN_FLIGHT - held):
            reference = self._actors[actor].embed.remote(texts, kind)
            self._calls[reference] = actor, number
            held += 1
        if held == _IN_FLIGHT:
            return
        self._calls = {ref: call for ref, call in self._calls.items() if call[1] is not None}
        busy = {owner for owner, _ in self._calls.values()}
        for idle in self._actors.keys() - busy:
            ray.kill(self._actors.pop(idle))

    def _result(self, reference: Any) -> Vectors:  # noqa: ANN401 - Ray's own type is opaque
        """Return the answer to a call; what `Embedder.ready` gives is nobody's vectors."""
        try:
            vectors: Vectors = ray.get(reference)
        except RayTaskError as error:
            raise self._failure(error) from error
        except RayError as error:
            raise self._death(error) from error
        return vectors

    def _tell_of_room(self) -> None:
        """Say what the actors need, of which none has answered.

        Raises:
            EncoderUnavailableError: No node has so much, nor can any join.
        """
        free = ray.available_resources()  # type: ignore[no-untyped-call]
        nodes = live_nodes()
        said = (
            f"no worker with encoder {self._encoder!r} has answered within "
            f"{self._ray.placement_timeout_s:g} s: each needs {self._workers.needs} on one node, "
            f"and {free.get('CPU', 0):g} cores and {free.get('GPU', 0):g} GPUs are free on "
            f"{len(nodes)} nodes in all"
        )
        if self._ray.address or any(self._workers.fit(node) for node in nodes):
            run_logger(__name__).warning("%s; end other work there or start a node", said)
            return
        raise EncoderUnavailableError(
            f"{said}; no node of this machine's cluster has so much (COSQA_ENCODER__GPU_SHARE, "
            "COSQA_RAY__CPUS, COSQA_RAY__GPUS)"
        )

    def _death(self, error: RayError) -> EncoderError:
        """Return what to raise where an actor cannot start, or Ray has given it up."""
        if getattr(error, "actor_init_failed", False):
            return EncoderError(
                f"a worker with encoder {self._encoder!r} cannot start: {error}\nevery node of the "
                "cluster needs this release of the project, with its packages, in Ray's Python"
            )
        cause = str(error).partition("\n")[0].rstrip(".")
        return EncoderUnavailableError(
            f"workers with encoder {self._encoder!r} keep dying: {cause}; what has been embedded "
            "is kept; fewer actors (COSQA_ENCODER__ACTORS) need less memory"
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


def live_nodes() -> list[Node]:
    """Return the live nodes of the cluster."""
    return [
        Node(int(node["Resources"].get("CPU", 0)), float(node["Resources"].get("GPU", 0)))
        for node in ray.nodes()  # type: ignore[no-untyped-call]
        if node["Alive"]
    ]
