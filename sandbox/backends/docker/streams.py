"""The attached streams of an installing container, which carry its tunnels to this machine.

The engine sends a container's output in packets, as `channel` describes. Stdout is the tunnels',
stderr is what is printed. Blocking calls, of which one thread may read while another writes.
"""

import asyncio
import contextlib
import select
import socket
import threading

from sandbox.backends.docker.channel import PACKET_HEADER, STDERR, Closable
from sandbox.packages.proxy import Proxy
from sandbox.packages.tunnels import Tunnels

_KEPT = 65_536


class Streams:
    """The host's ends of a container's stdin, stdout and stderr.

    Args:
        connection: The socket that the engine gave for them.
        holder: What keeps the socket open beside it, closed with it.
    """

    def __init__(self, connection: socket.socket, holder: Closable) -> None:
        connection.settimeout(None)
        self._connection = connection
        self._holder = holder
        self._using = threading.Lock()  # TLS is one state for both directions
        self._arrivals = select.poll()
        self._arrivals.register(connection, select.POLLIN)
        self._printed = b""

    @property
    def printed(self) -> str:
        """The end of what the container has printed."""
        return self._printed.decode(errors="replace")

    def read(self) -> bytes:
        """Return the next bytes of its stdout; none where it has ended."""
        while header := self._exactly(PACKET_HEADER):
            data = self._exactly(int.from_bytes(header[4:], "big"))
            if header[0] != STDERR:
                return data
            self._printed = (self._printed + data)[-_KEPT:]
        return b""

    def write(self, data: bytes) -> None:
        """Send bytes to its stdin."""
        with self._using:
            self._connection.sendall(data)

    def close(self) -> None:
        """Close them, which also wakes a thread that waits for one."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        self._holder.close()

    def _exactly(self, size: int) -> bytes:
        """Return that many bytes; none where the stream ends before."""
        data = bytearray()
        while len(data) < size:
            is_here = getattr(self._connection, "pending", int)()  # decrypted, and not yet read
            if not is_here:
                self._arrivals.poll()
            with self._using:
                received = self._connection.recv(min(size - len(data), _KEPT))
            if not received:
                return b""
            data += received
        return bytes(data)


async def carry(streams: Streams, proxy: Proxy, limit_s: float) -> None:
    """Serve a container's tunnels by a proxy until it ends, and close its streams.

    Raises:
        TimeoutError: It does not end in time.
        ValueError: It breaks the tunnels' protocol.
    """
    try:
        async with asyncio.timeout(limit_s):
            await Tunnels(streams.read, streams.write, proxy.serve).run()
    finally:
        streams.close()
