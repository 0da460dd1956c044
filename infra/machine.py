"""The resources of this process: cores, GPUs and memory of the machine or cluster it works on."""

import os
import resource
import sys
from pathlib import Path

from infra.records import Record

_CGROUP_MEMORY = Path("/sys/fs/cgroup/memory.max")
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
    """Return the cores that this process may use, and NVIDIA's GPUs by their device files."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return Machine(cores=cores, gpus=len(list(Path("/dev").glob("nvidia[0-9]*"))))


def memory_gb() -> float:
    """Return the memory of this machine, or less where a control group limits it, in 10^9 bytes."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _CGROUP_MEMORY.read_text("utf-8").strip() if _CGROUP_MEMORY.is_file() else "max"
    return min(physical, int(limit) if limit.isdigit() else physical) / 1e9


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
