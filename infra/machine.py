"""The resources of this process: cores, GPUs and memory of the machine or cluster it works on."""

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread

from infra.records import Record

_PATIENCE_S = 2.0
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


def physical_memory() -> int:
    """Return the memory of this machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def working_machine() -> Machine | None:
    """Return the Ray cluster that this process has joined, else this machine.

    A cluster that does not answer at once, such as one whose head is gone, is None.
    """
    ray = sys.modules.get("ray")  # half of it while another thread imports it
    if ray is None or not getattr(ray, "is_initialized", bool)():
        return this_machine()
    found: dict[str, float] = {}

    def ask() -> None:
        with suppress(Exception):  # what Ray raises for a lost head is of many kinds
            found.update(ray.cluster_resources())

    asking = Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_PATIENCE_S)
    if not found:
        return None
    return Machine(cores=max(1, int(found.get("CPU", 1))), gpus=int(found.get("GPU", 0)))


def peak_memory_mb() -> float:
    """Return the most resident memory that this process has had since its start, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT / 1e6


def used_resources() -> dict[str, object]:
    """Return column → value of what a stage's run is stored with; None where that is unknown."""
    machine = working_machine()
    fields = machine.model_dump() if machine else dict.fromkeys(Machine.model_fields)
    return fields | {"peak_memory_mb": peak_memory_mb()}
