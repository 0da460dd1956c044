"""The process that made a container, distinguished from every other on any host.

A process is named by host, number and start time, since numbers are used again. Where there is no
``/proc``, the start time is unknown and the number alone must do.
"""

import os
import socket
from pathlib import Path

_START_TIME = 19  # of the fields after the command's name, see proc(5)


def this_owner() -> str:
    """Return the name of the calling process, as written on what it makes."""
    return f"{socket.gethostname()}/{os.getpid()}/{_started(os.getpid())}"


def is_left_over(owner: str) -> bool:
    """Return whether an owner is a process of this host that has ended."""
    parts = owner.split("/")
    if len(parts) != 3 or parts[0] != socket.gethostname():
        return False
    number = int(parts[1])
    return not _is_alive(number) or _started(number) != parts[2]


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _started(process: int) -> str:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[_START_TIME]
