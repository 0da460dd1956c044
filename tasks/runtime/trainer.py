"""A Ray actor that trains one model, on a GPU where there is one."""

import os
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from infra.errors import CosqaError, EncoderUnavailableError, TrainingError
from tasks.runtime.embedder import ended, live_nodes
from tasks.training.job import History, TrainingJob, TrainingProgress


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

    Args:
        job: The job.
        emit: Takes the progress.

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
