"""The resources of this machine."""

import os
import platform
import re
from pathlib import Path


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def processor() -> str:
    """Return the name of this machine's processor, as the system has it."""
    listed = Path("/proc/cpuinfo")
    text = listed.read_text("utf-8", "replace") if listed.is_file() else ""
    found = re.search(r"(?m)^model name\s*:\s*(.+)$", text)
    return found[1] if found else platform.processor() or platform.machine()


def physical_memory() -> int:
    """Return the memory of this machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
