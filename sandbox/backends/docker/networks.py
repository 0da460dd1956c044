"""Networks that hold only a loopback interface, each used by one box at a time.

A network of its own takes the engine about as long as all the rest of a container's start (it runs
its own large binary for each), so networks are kept: each by a container that only waits, in whose
network a box is started. A box has one to itself, and the next gets it when the last one's runner
has found every process and every socket gone; connections that would linger on do not
(``SYSCTLS``). The network of a box that was lost or left something behind is removed.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Mapping

from docker.models.containers import Container

COMMAND = ("cat",)  # ends with its stdin, and so with the process that holds the other end
_BOXES_UNTIL_TRIMMED = 50
SYSCTLS: Mapping[str, str] = {"net.ipv4.tcp_max_tw_buckets": "0"}


class Networks:
    """The networks of one engine; threads may share it.

    Args:
        make: Makes and starts a container that keeps a network.
        is_alive: Whether such a container still runs.
        remove: Removes such a container.
    """

    def __init__(
        self,
        make: Callable[[], Container],
        is_alive: Callable[[Container], bool],
        remove: Callable[[Container], None],
    ) -> None:
        self._make = make
        self._is_alive = is_alive
        self._remove = remove
        self._idle: deque[Container] = deque()
        self._in_use: dict[str, Container] = {}
        self._boxes = 0
        self._spare = 0  # the fewest that were idle since the last trimming

    def make_in_one(self, make_box: Callable[[str], Container]) -> Container:
        """Return a box made in a network that no other is in.

        Args:
            make_box: Makes the box, given the engine's name for that network.
        """
        network_container = self._free()
        try:
            box = make_box(f"container:{network_container.id}")
        except BaseException:
            self._idle.append(network_container)
            raise
        self._in_use[str(box.id)] = network_container
        self._trim()
        return box

    def give_back(self, box: Container, *, keep: bool) -> None:
        """Take back the network of a box that is gone, for the next one or to remove it."""
        network_container = self._in_use.pop(str(box.id), None)
        if network_container is None:
            return
        if keep:
            self._idle.append(network_container)
        else:
            self._remove(network_container)

    def _trim(self) -> None:
        """Remove, every so many boxes, the networks that none of these boxes needed."""
        self._boxes += 1
        self._spare = min(self._spare, len(self._idle))
        if self._boxes % _BOXES_UNTIL_TRIMMED == 0:
            with contextlib.suppress(IndexError):
                for _ in range(self._spare):
                    self._remove(self._idle.popleft())
            self._spare = len(self._idle)

    def _free(self) -> Container:
        while True:
            try:
                network_container = self._idle.pop()
            except IndexError:
                return self._make()
            if self._is_alive(network_container):
                return network_container
            self._remove(network_container)
