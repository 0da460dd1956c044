"""Locks on files, by which processes of a machine take turns.

The kernel drops a lock with the process that holds it, however that ends.
"""

import fcntl
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LONGEST = 200  # bytes of what a holder says of itself
_log = logging.getLogger(__name__)


@contextmanager
def locked(file: Path, *, wait: bool = True) -> Iterator[int]:
    """Hold a lock on a file inside the ``with``; yield its descriptor, open for both ways.

    The file names the process that holds it, for those who wait.

    Args:
        file: The file; it and its folder are made where they lack.
        wait: Whether to wait for a process that holds it, which is told.

    Raises:
        BlockingIOError: Another process holds it, and there is to be no wait.
        OSError: The file cannot be opened.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise
            holder = os.pread(handle, _LONGEST, 0).decode(errors="replace") or "another process"
            _log.warning("waiting for %s, which holds %s", holder, file)
            fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(OSError):  # of a full disk: the lock needs no name
            os.ftruncate(handle, 0)
            words = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])
            os.pwrite(handle, f"process {os.getpid()} ({words})".encode()[:_LONGEST], 0)
        yield handle
    finally:
        os.close(handle)  # and with it the lock
