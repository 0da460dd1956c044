"""Places for boxes on this machine, which all processes of a user share through locked files.

The kernel drops a lock with the process that holds it, however that ends, so that no place is lost
to a process that was killed.
"""

import asyncio
import contextlib
import fcntl
import os
import tempfile
from pathlib import Path

from infra.errors import SandboxError

_SHORTEST_WAIT_S = 0.005
_LONGEST_WAIT_S = 0.1  # until a place that another process has left is seen


class Slot:
    """A place that is held until it is released; ``number`` is its own, from 0."""

    def __init__(self, number: int, handle: int, freed: asyncio.Event) -> None:
        self.number = number
        self._handle: int | None = handle
        self._freed = freed

    def release(self) -> None:
        """Leave the place; do nothing where it was left before."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)
            self._freed.set()


class MachineSlots:
    """A number of places; processes that name the same folder share them.

    Where processes ask for different numbers, each stays below its own. Where anything waits for a
    place, all belongs to the event loop that it is first used in.

    Args:
        name: The folder's name.
        count: How many places there are.
    """

    def __init__(self, name: str, count: int) -> None:
        self._name = name
        self._count = count
        self._turns = asyncio.Lock()  # within the process: first come, first served
        self._freed = asyncio.Event()

    def try_acquire(self) -> Slot | None:
        """Return a free place, or None.

        Raises:
            SandboxError: The folder of the locks cannot be used.
        """
        try:
            folder = own_folder() / self._name
            folder.mkdir(mode=0o700, exist_ok=True)
            for number in range(self._count):
                handle = os.open(folder / str(number), os.O_RDWR | os.O_CREAT, 0o600)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    os.close(handle)
                else:
                    return Slot(number, handle, self._freed)
        except OSError as error:
            raise SandboxError(
                f"the places for boxes on this machine cannot be locked ({error}); make the folder "
                "of temporary files writable, or name another one in TMPDIR"
            ) from error
        return None

    async def acquire(self) -> Slot:
        """Return a place, waiting for a free one; errors as in `try_acquire`."""
        async with self._turns:
            wait_s = _SHORTEST_WAIT_S
            while (slot := self.try_acquire()) is None:
                self._freed.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._freed.wait(), wait_s)
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
            return slot


def own_folder() -> Path:
    """Return this user's folder of locks; nobody else can have made it, or write to it.

    Raises:
        OSError: It cannot be made, or is another's.
    """
    folder = Path(tempfile.gettempdir()) / f"cosqa-boxes-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or not folder.is_dir() or folder.is_symlink():
        raise PermissionError(f"{folder} belongs to another user")
    return folder
