"""Ray actors: those that embed batches of texts, and the one that trains a model."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from queue import SimpleQueue
from typing import Any, NamedTuple

import ray
from ray.exceptions import (
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RayActorError,
    RayError,
    RayTaskError,
    WorkerCrashedError,
)

import tasks.training.encoder  # noqa: F401 - reads the folders of `cosqa train`
from infra.errors import CosqaError, EncoderError, EncoderUnavailableError, TrainingError
from infra.ray import signals_as_raised
from infra.settings import EncoderSettings, RaySettings
from infra.summaries import EncodingEffort
from tasks.encoders import Encoder, EncoderClass, Kind, Vectors, encoders
from tasks.runtime.progress import raise_if_stopped, run_logger
from tasks.runtime.vector_writer import EmbeddedBatch, encode
from tasks.training.recipes import History, TrainingJob, TrainingProgress

_LONGEST = 300  # characters of what Ray says of a death
_POLL_S = 1.0  # between checks whether the run was stopped
_IN_FLIGHT = 2  # batches of an actor: one is computed while the next is on its way
_MOST_DEATHS = 3  # of actors that had one batch, or of one after the other before it is placed
# What a call raises whose actor, or the node with its answer, is gone.
_GONE = (RayActorError, ObjectLostError, WorkerCrashedError, NodeDiedError, OutOfMemoryError)
_MOST_ON_A_NODE = 8  # where no number of actors is set
_FEWEST_TEXTS = 400  # loading an encoder takes a core about as long as embedding this many texts

Batch = tuple[Kind, Sequence[str]]


class Embedder:
    """A Ray actor that embeds batches of texts with one encoder.

    The encoder is loaded with the first batch, so that its own error reaches the caller.

    Args:
        encoder: The class of the encoder.
        threads: Number of cores to use.
        batch_size: Most texts in one forward pass; 0 lets the encoder cut by tokens.
        gpus: Its share of a GPU; without one it sees none.
    """

    def __init__(self, encoder: EncoderClass, threads: int, batch_size: int, gpus: float) -> None:
        self._class = encoder
        self._encoder: Encoder | None = None
        self._threads = threads
        self._batch_size = batch_size
        self._gpus = gpus

    def embed(self, texts: Sequence[str], kind: Kind) -> tuple[Vectors, EncodingEffort]:
        """Return (n, d) vectors, and what it took to compute them."""
        if self._encoder is None:
            if not self._gpus:  # Ray hides no GPU from work that asked for none
                os.environ["CUDA_VISIBLE_DEVICES"] = ""
            import torch  # noqa: PLC0415 - heavy, and needed on workers only

            torch.set_num_threads(self._threads)
            self._encoder = self._class()
        return encode(self._encoder, texts, kind, self._batch_size)


class Node(NamedTuple):
    """A live node of the cluster, with all its cores and GPUs."""

    cores: int
    gpus: float


class Workers(NamedTuple):
    """The number of actors to ask for, and the cores or the share of a GPU (else 0) of each."""

    number: int
    cores: int
    gpus: float


def workers_for(nodes: Sequence[Node], texts: int, settings: EncoderSettings) -> Workers:
    """Return the actors to ask for: as many as are set, or as the nodes have room for.

    If any node has a GPU, only GPUs compute: a core would be the last to finish. Few
    texts get few actors, since each loads the encoder first. Those on GPUs share the cores too.
    """
    share = settings.gpu_share or float(any(node.gpus for node in nodes))
    if share:  # which is of one GPU
        places = [int(node.gpus) * int(round(1 / share, 6)) for node in nodes]
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
    encoder: str,
    batches: Iterable[Batch],
    texts: int,
    settings: EncoderSettings,
    ray_settings: RaySettings,
) -> Iterator[EmbeddedBatch]:
    """Yield batches as actors finish them, in no fixed order.

    An actor gets its next batch before the vectors of the last one are yielded, and has at most two
    at once, so that memory stays bounded. One that Ray has not placed yet gets none, and may be
    placed on a node that joins. The batches of one that dies, or whose node is gone, go to the
    others and to one in its place.

    Raises:
        EncoderError: The encoder cannot be loaded, or failed.
        EncoderUnavailableError: A batch ends all actors that get it, actors end before they are
            placed, or none will ever find room.
    """
    numbered = enumerate(batches)
    if (first := next(numbered, None)) is None:
        return
    workers = workers_for(live_nodes(), texts, settings)
    pool = _Pool(encoder, workers, settings.batch_size, chain([first], numbered))
    silent_s = 0.0
    try:
        while pool.hand_out():
            ready = ended(list(pool.calls))
            silent_s = 0.0 if ready else silent_s + _POLL_S
            if silent_s >= ray_settings.placement_timeout_s:
                _report_room(encoder, workers, ray_settings)
                silent_s = 0.0
            for reference in ready:
                if answer := pool.answer(reference):
                    pool.hand_out()
                    yield answer
    finally:
        pool.close()


@dataclass(eq=False)
class _Actor:
    """An actor, as it was last heard from.

    Attributes:
        handle: Ray's.
        attempt: Its number among those that were started one after the other and never placed.
        room: How many batches it may be given: none before Ray has placed it.
        heard: A number that grows with each answer of an actor; 0 before it is placed.
    """

    handle: Any
    attempt: int
    room: int = 0
    heard: int = 0


class _Pool:
    """Actors with one encoder, and the batches that each has.

    Args:
        encoder: The name of the encoder.
        workers: The number of actors, and what each needs.
        batch_size: As `Embedder` takes it.
        batches: The numbered batches, which are read as actors have room for them.
    """

    def __init__(
        self,
        encoder: str,
        workers: Workers,
        batch_size: int,
        batches: Iterator[tuple[int, Batch]],
    ) -> None:
        self._encoder = encoder
        self._left = batches
        self._lost: list[tuple[int, Batch]] = []
        self._deaths = Counter[int]()  # of the actors that had a batch, by its number
        self._last_death: dict[int, int] = {}  # of a batch: `_answers` by then
        self._answers = 0
        remote: Any = ray.remote(Embedder)
        # Ray's own restarts would keep the batches of a node that is gone for an actor that finds
        # no room elsewhere.
        self._class = remote.options(
            num_gpus=workers.gpus,
            # Where no number of cores is named, Ray takes one for work on a GPU.
            num_cpus=0 if workers.gpus else workers.cores,
            scheduling_strategy="SPREAD",
        )
        self._arguments = encoders.get(encoder), workers.cores, batch_size, workers.gpus
        self._actors: list[_Actor] = []
        # Actor and batch; the first call of each has none, and is answered once it is placed.
        self.calls: dict[Any, tuple[_Actor, tuple[int, Batch] | None]] = {}
        for _ in range(workers.number):
            self._start()

    def _start(self, attempt: int = 1) -> None:
        actor = _Actor(self._class.remote(*self._arguments), attempt)
        self._actors.append(actor)
        self.calls[actor.handle.__ray_ready__.remote()] = actor, None

    def hand_out(self) -> bool:
        """Give batches to actors that have room; return False once none is left or computed."""
        while (actor := max(self._actors, key=lambda one: one.room)).room and (
            batch := self._lost.pop() if self._lost else next(self._left, None)
        ):
            _, (kind, texts) = batch
            self.calls[actor.handle.embed.remote(texts, kind)] = actor, batch
            actor.room -= 1
        is_computed = any(batch for _, batch in self.calls.values())
        return is_computed or not actor.room

    def answer(self, reference: Any) -> EmbeddedBatch | None:  # noqa: ANN401 - Ray's
        """Return what a call that has ended gave; None if its actor was placed or is gone."""
        actor, batch = self.calls.pop(reference)
        try:
            answer = ray.get(reference)
        except _GONE as error:
            self._replace(actor, batch, error)
            return None
        except RayError as error:
            if isinstance(cause := getattr(error, "cause", None), CosqaError):
                raise cause from error
            raise EncoderError(
                f"encoder {self._encoder!r} failed on a worker: {error}\nif it lacks memory: a "
                "smaller COSQA_ENCODER__BATCH_SIZE needs less, and a larger "
                "COSQA_ENCODER__GPU_SHARE leaves more to each worker"
            ) from error
        self._answers += 1
        actor.heard = self._answers
        if batch is None:
            actor.room = _IN_FLIGHT
            return None
        actor.room += 1
        placed = sum(one.heard > 0 for one in self._actors)
        return EmbeddedBatch(batch[0], answer[0], answer[1].beside(placed))

    def _replace(self, actor: _Actor, batch: tuple[int, Batch] | None, error: RayError) -> None:
        """Start an actor in the place of one that is gone; its batches are the next to be given."""
        if getattr(error, "actor_init_failed", False):
            raise EncoderError(
                f"a worker with encoder {self._encoder!r} cannot start: {error}\nevery node of the "
                "cluster needs this release of the project, with its packages, in Ray's Python"
            ) from error
        others = [reference for reference, (one, _) in self.calls.items() if one is actor]
        had = [item for item in (batch, *(self.calls.pop(it)[1] for it in others)) if item]
        for number, _ in had:
            # One that was silent since may have been gone for as long: the batch ended one of both.
            if actor.heard > self._last_death.get(number, -1):
                self._deaths[number] += 1
            self._last_death[number] = self._answers
        attempt = 1 if actor.heard else actor.attempt + 1
        cause = " ".join(line for line in str(error).splitlines() if line[:1].strip())[:_LONGEST]
        if max([attempt - 1, *(self._deaths[number] for number, _ in had)]) > _MOST_DEATHS:
            raise EncoderUnavailableError(
                f"workers with encoder {self._encoder!r} keep dying: {cause}; the vectors so far "
                "are stored; fewer actors (COSQA_ENCODER__ACTORS) need less memory"
            ) from error
        run_logger(__name__).warning(
            "a worker with encoder %r is gone, and another is started: %s", self._encoder, cause
        )
        self._actors.remove(actor)
        ray.kill(actor.handle)
        self._lost += had
        self._start(attempt)

    def close(self) -> None:
        """End all actors."""
        for actor in self._actors:
            with suppress(RayError):
                ray.kill(actor.handle)


def _report_room(encoder: str, workers: Workers, settings: RaySettings) -> None:
    """Log what the actors need, none of which has answered."""
    free = ray.available_resources()  # type: ignore[no-untyped-call]
    nodes = live_nodes()
    needs = f"{workers.gpus:g} GPU" if workers.gpus else f"{workers.cores} cores"
    needed = (
        f"no worker with encoder {encoder!r} has answered within {settings.placement_timeout_s:g} "
        f"s: each needs {needs} on one node, and {free.get('CPU', 0):g} cores and "
        f"{free.get('GPU', 0):g} GPUs are free on {len(nodes)} nodes in all"
    )
    fits = (n.gpus >= workers.gpus if workers.gpus else n.cores >= workers.cores for n in nodes)
    if settings.address or any(fits):
        run_logger(__name__).warning("%s; end other work there or start a node", needed)
        return
    raise EncoderUnavailableError(
        f"{needed}; no node of this machine's cluster has so much (COSQA_ENCODER__GPU_SHARE, "
        "COSQA_RAY__CPUS, COSQA_RAY__GPUS)"
    )


def ended(calls: list[Any]) -> list[Any]:
    """Return the first call that has ended, nothing where none has within a second.

    Raises:
        KeyboardInterrupt: The run was stopped.
    """
    with signals_as_raised():
        ready, _ = ray.wait(calls, num_returns=1, timeout=_POLL_S)
    raise_if_stopped()
    return ready


def live_nodes() -> list[Node]:
    """Return the live nodes of the cluster."""
    return [
        Node(int(node["Resources"].get("CPU", 0)), float(node["Resources"].get("GPU", 0)))
        for node in ray.nodes()  # type: ignore[no-untyped-call]
        if node["Alive"]
    ]


class _Worker:
    """Trains a model in its own process; its progress can be read meanwhile."""

    def __init__(self) -> None:
        self._progress: SimpleQueue[TrainingProgress | None] = SimpleQueue()

    def train(self, job: TrainingJob, threads: int, gpus: int) -> History:
        """Train the model and save it in the job's folder."""
        if not gpus:  # Ray hides no GPU from work that asked for none
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        import torch  # noqa: PLC0415 - heavy, and needed on workers only

        from tasks.training.trainer import train  # noqa: PLC0415

        torch.set_num_threads(threads)
        try:
            model, history = train(job, self._progress.put)
            model.save(job.model_folder)
        finally:
            self._progress.put(None)
        return history

    def next_progress(self) -> TrainingProgress | None:
        """Wait for the next progress; None after the last."""
        return self._progress.get()


def train_on_ray(job: TrainingJob, emit: Callable[[TrainingProgress], None]) -> History:
    """Train on Ray; the model is saved in the job's folder, which all nodes mount.

    Where the worker dies, another run of the same job resumes from its last checkpoint.

    Raises:
        EncoderUnavailableError: The worker died.
        CosqaError: The training failed.
    """
    nodes = live_nodes()
    gpus = int(any(node.gpus >= 1 for node in nodes))
    cores = max(node.cores for node in nodes)
    remote: Any = ray.remote(_Worker)
    worker = remote.options(
        num_gpus=gpus, num_cpus=0 if gpus else cores, max_concurrency=2
    ).remote()
    try:
        done = worker.train.remote(job, cores, gpus)
        _emit_all(worker, done, emit)
        history: History = ray.get(done)
    except RayTaskError as error:
        if isinstance(error.cause, CosqaError):
            raise error.cause from error
        raise TrainingError(
            f"the training failed on its worker: {error}\nwhere memory is short, a smaller "
            f"training.batch_size needs less; where a checkpoint is damaged, remove {job.folder}"
        ) from error
    except RayError as error:
        cause = str(error).partition("\n")[0].rstrip(".")
        raise EncoderUnavailableError(
            f"the worker that trains has died: {cause}; the same command resumes from its last "
            "checkpoint; a smaller training.batch_size needs less memory"
        ) from error
    finally:
        ray.kill(worker)
    return history


def _emit_all(worker: Any, done: Any, emit: Callable[[TrainingProgress], None]) -> None:  # noqa: ANN401 - Ray's
    """Emit a worker's progress until the last; raise where it fails before."""
    call, awaited = worker.next_progress.remote(), [done]
    while True:
        ready = ended([call, *awaited])
        if call in ready:
            if (progress := ray.get(call)) is None:
                return
            emit(progress)
            call = worker.next_progress.remote()
        elif ready:
            ray.get(done)
            awaited = []  # of two calls that have ended, Ray may return this one for ever
