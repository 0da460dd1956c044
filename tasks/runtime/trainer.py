"""A Ray actor that trains one model, on a GPU where there is one."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from infra.errors import CosqaError, EncoderUnavailableError, TrainingError
from tasks.runtime.embedder import ended, live_nodes
from tasks.training.job import History, TrainingJob, TrainingProgress


class _Worker:
    """Trains a model in a process of its own."""

    def train(
        self, job: TrainingJob, folder: Path, threads: int, gpus: int
    ) -> Iterator[TrainingProgress | History]:
        """Yield the progress, at the end the history; the model is saved in the folder then."""
        if not gpus:  # Ray hides no GPU from work that asked for none
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        import torch  # noqa: PLC0415 - heavy, and needed on workers only

        from tasks.training.trainer import progress_of_training  # noqa: PLC0415

        torch.set_num_threads(threads)
        yield from progress_of_training(job, folder)


def train_on_ray(job: TrainingJob, folder: Path) -> Iterator[TrainingProgress | History]:
    """Yield the progress of a training on Ray, at the end its history.

    Where the worker dies, another run of the same job goes on from its last checkpoint.

    Args:
        job: What to train. Its folder and ``folder`` are on storage that all nodes mount.
        folder: An empty folder, in which the model is saved.

    Raises:
        EncoderUnavailableError: The worker died.
        CosqaError: What the training itself raises.
    """
    nodes = live_nodes()
    gpus = int(any(node.gpus >= 1 for node in nodes))
    cores = max(node.cores for node in nodes)
    remote: Any = ray.remote(_Worker)
    worker = remote.options(num_gpus=gpus, num_cpus=0 if gpus else cores).remote()
    train = worker.train.options(num_returns="streaming").remote
    try:
        stream = train(job, folder, cores, gpus)
        with suppress(StopIteration):
            while True:
                if ended([stream]):
                    yield ray.get(next(stream))
    except RayTaskError as error:
        if isinstance(error.cause, CosqaError):
            raise error.cause from error
        failure = f"the training failed on its worker: {error}"
        if "out of memory" in failure:
            failure += "\na smaller training.batch_size needs less memory"
        raise TrainingError(failure) from error
    except RayError as error:
        cause = str(error).partition("\n")[0].rstrip(".")
        raise EncoderUnavailableError(
            f"the worker that trains has died: {cause}; what it has saved is kept, and the same "
            "command goes on from there; a smaller training.batch_size needs less memory"
        ) from error
    finally:
        ray.kill(worker)
