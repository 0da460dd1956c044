"""Locks on files, by which processes of a machine take turns.

The kernel drops a lock with the process that holds it, however that ends.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(file: Path, *, wait: bool = True) -> Iterator[int]:
    """Hold a lock on a file inside the ``with``; yield its descriptor, open for both ways.

    Args:
        file: The file; it and its folder are made where they lack.
        wait: Whether to wait for a process that holds it.

    Raises:
        BlockingIOError: Another process holds it, and there is to be no wait.
        OSError: The file cannot be opened.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield handle
    finally:
        os.close(handle)  # and with it the lock
