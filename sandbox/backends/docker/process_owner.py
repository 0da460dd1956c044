"""The process that made a container, distinguished from every other on any host.

Machines or containers of one host name may share an engine, and process numbers are used again. So
a process is named by host, machine, boot, PID namespace, number and start time. Where there is no
``/proc``, the unknown parts are empty.
"""

import os
import socket
from pathlib import Path

_MACHINE = Path("/etc/machine-id")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")
_PARTS = 6
_START_TIME = 19  # of the fields after the command's name, see proc(5)


def this_owner() -> str:
    """Return the name of the calling process, as written on what it makes."""
    return owner_name(os.getpid(), _started(os.getpid()))


def owner_name(process: int, started: str) -> str:
    """Return the name of a process of this machine, boot and PID namespace."""
    here = (socket.gethostname(), _first_line(_MACHINE), _first_line(_BOOT), _namespace())
    return "/".join((*here, str(process), started))


def is_left_over(owner: str) -> bool:
    """Return True if an owner has ended for certain.

    Its machine was started again since, or this process would see it. The owner of another machine,
    or named in another form, has not.
    """
    parts, here = owner.split("/"), this_owner().split("/")
    if len(parts) != _PARTS or parts[:2] != here[:2]:
        return False
    *place, process, started = parts
    if place == here[:-2]:
        return process.isdecimal() and _started(process) != started
    return bool(place[1] and place[2]) and place[2] != here[2]


def _started(process: int | str) -> str:
    """Return when a process of this PID namespace was started, "" where there is none."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[_START_TIME]


def _namespace() -> str:
    try:
        return _NAMESPACE.readlink().name.strip("pid:[]")
    except OSError:
        return ""


def _first_line(file: Path) -> str:
    try:
        return file.read_text().partition("\n")[0].strip()
    except OSError:
        return ""
