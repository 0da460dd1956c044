"""The sockets of a box's network, of which a program can leave some that belong to no process.

A socket that was sent to itself, or two that were sent to each other, stay open with their ports
and messages when every process is gone, until the kernel's collector finds them.
"""

import _socket
import contextlib
import time

_TABLE = "/proc/net/sockstat"
_TRIES = 50
_WAIT_S = 0.005  # the collector works in the background, and needs some milliseconds


def sockets_in_use() -> int:
    """Return the number of sockets in this network; 0 where the kernel does not tell."""
    with contextlib.suppress(OSError), open(_TABLE) as file:
        return int(file.readline().split()[2])
    return 0


def are_gone(before: int) -> bool:
    """Wake the collector and wait for it; return whether no more sockets are left than before."""
    for _ in range(_TRIES):
        if sockets_in_use() <= before:
            return True
        _socket.socket(_socket.AF_UNIX).close()
        time.sleep(_WAIT_S)
    return False
