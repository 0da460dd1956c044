"""The process that made a container, distinguished from every other on any host.

Host names are used twice, and numbers again: two machines or containers of one name may share an
engine. So a process is named by host, machine, boot, PID namespace, number and start time, and has
ended for certain only where the machine was started anew since, or where this process would see it.
Where there is no ``/proc``, the unknown parts are empty and the rest must do.
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
    place = (socket.gethostname(), _first_line(_MACHINE), _first_line(_BOOT), _namespace())
    return "/".join((*place, str(process), started))


def is_left_over(owner: str) -> bool:
    """Return whether an owner has ended for certain.

    One that an earlier version named, by fewer parts, may be of another machine and has not.
    """
    parts = owner.split("/")
    if len(parts) != _PARTS or not parts[4].isdecimal():
        return False
    host, machine, boot, namespace, number, started = parts
    *here, _, _ = this_owner().split("/")
    if [host, machine] != here[:2]:
        return False
    if boot != here[2]:
        return bool(machine and boot and here[2])
    return namespace == here[3] and not (_is_alive(int(number)) and _started(number) == started)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _started(process: int | str) -> str:
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
