"""The resources of this process: cores, GPUs and memory of the machine or cluster it works on."""

import os
import resource
import sys

from infra.records import Record

_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes: getrusage(2) of macOS and Linux


class Machine(Record):
    """What stages run on: one machine, or the nodes of a cluster taken together.

    Attributes:
        cores: Number of cores that may be used.
        gpus: Number of GPUs.
    """

    cores: int
    gpus: int


def this_machine() -> Machine:
    """Return the cores of this machine, and its GPUs if PyTorch is loaded already (else 0)."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    torch = sys.modules.get("torch")
    return Machine(cores=cores, gpus=torch.cuda.device_count() if torch else 0)


def working_machine() -> Machine:
    """Return the resources of the Ray cluster that this process has joined, else of the machine."""
    ray = sys.modules.get("ray")
    here = this_machine()
    if ray is None or not ray.is_initialized():
        return here
    cluster = ray.cluster_resources()
    cores = int(cluster.get("CPU", here.cores))
    return Machine(cores=max(cores, 1), gpus=int(cluster.get("GPU", 0)))


def peak_memory_mb() -> float:
    """Return the most resident memory that this process has had since its start, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT / 1e6


def used_resources() -> dict[str, object]:
    """Return column → value of what a stage's run is stored with."""
    return working_machine().model_dump() | {"peak_memory_mb": peak_memory_mb()}
