"""The leftovers of programs in a box: files, and sockets that belong to no process any more.

A socket that was sent to itself, or two that were sent to each other, stay open with their ports
and messages when every process is gone, until the kernel's collector finds them.
"""

import _socket
import contextlib
import os
import time

_WRITABLE = ("/tmp", "/dev/shm")  # noqa: S108 - what programs can write to
_TABLE = "/proc/net/sockstat"
_TRIES = 50
_WAIT_S = 0.005  # the collector works in the background, and needs some milliseconds


def sockets_in_use() -> int:
    """Return the number of sockets in this network; 0 where the kernel does not tell."""
    with contextlib.suppress(OSError), open(_TABLE) as file:
        return int(file.readline().split()[2])
    return 0


def remove_all(sockets: int) -> bool:
    """Empty what programs can write to, and wait for the collector; return whether all is gone.

    Args:
        sockets: How many there were before.
    """
    try:
        for top in _WRITABLE:
            for folder, folders, files in os.walk(top, topdown=False, onerror=_refuse):
                for name in files:
                    os.unlink(os.path.join(folder, name))
                for name in folders:
                    path = os.path.join(folder, name)
                    (os.unlink if os.path.islink(path) else os.rmdir)(path)
    except (OSError, RecursionError):
        return False
    return are_sockets_gone(sockets)


def _refuse(error: OSError) -> None:
    raise error


def are_sockets_gone(before: int) -> bool:
    """Wake the collector and wait for it; return whether no more sockets are left than before."""
    for _ in range(_TRIES):
        if sockets_in_use() <= before:
            return True
        _socket.socket(_socket.AF_UNIX).close()
        time.sleep(_WAIT_S)
    return False
