"""Connections that are carried over one pair of pipes, out of a container without a network.

Both ends run this module, the container from its text. In the container each connection to a port
of its loopback opens a tunnel; at the other end whoever serves the tunnels has a connection for
each. A frame has nine bytes of head (kind, tunnel, length of the data, big-endian), then the data;
data without a byte end a direction. Of each direction a few pieces are under way at most: a
connection that nobody reads from takes no memory and holds up no other.
"""

import asyncio
import contextlib
import itertools
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

_OPEN, _DATA, _TAKEN, _GONE = range(4)
_HEAD = struct.Struct(">BII")
_LARGEST = 65_536
_WINDOW = 16  # pieces under way
_MOST_TUNNELS = 64

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class _Tunnel:
    """What has arrived, None where the other end is gone; room for what is sent, and who sends."""

    arrived: asyncio.Queue[bytes | None]
    room: asyncio.Semaphore
    sending: asyncio.Task[None] | None = None


class Tunnels:
    """One end of the tunnels. It belongs to the event loop that it is made in.

    Args:
        read: Waits for bytes from the other end and returns them; none where it is gone.
        write: Sends bytes to the other end.
        serve: Serves the connections that the other end opens; where there is none, none are.
    """

    def __init__(
        self, read: Callable[[], bytes], write: Callable[[bytes], object], serve: Serve | None
    ) -> None:
        self._read = read
        self._write = write
        self._serve = serve
        self._writer = ThreadPoolExecutor(1)  # one frame after the other, whoever is cancelled
        self._tunnels: dict[int, _Tunnel] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count()
        self._is_over = False

    async def run(self) -> None:
        """Pass on what arrives until the other end is gone.

        Raises:
            ValueError: The other end does not keep to the protocol.
        """
        buffered = bytearray()
        try:
            while arrived := await asyncio.to_thread(self._read):
                buffered += arrived
                while frame := _first(buffered):
                    await self._accept(*frame)
        finally:
            self._is_over = True  # the other end need not read any more
            for task in self._serving:
                task.cancel()
            if self._serving:
                await asyncio.wait(self._serving)
            self._tunnels.clear()
            self._writer.shutdown(wait=False)

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Open a tunnel for a connection and carry it to its end."""
        number = next(self._numbers)
        self._add(number)
        await self._send(_OPEN, number)
        await self._pass_on(number, reader, writer)

    async def _accept(self, kind: int, number: int, data: bytes) -> None:
        if kind == _OPEN:
            await self._open(number)
        elif tunnel := self._tunnels.get(number):  # else it has ended here, and they will hear so
            if kind == _TAKEN:
                tunnel.room.release()
                return
            try:
                tunnel.arrived.put_nowait(None if kind == _GONE else data)
            except asyncio.QueueFull as error:
                raise ValueError("the other end sends more than there is room for") from error
            if kind == _GONE and tunnel.sending is not None:
                tunnel.sending.cancel()

    async def _open(self, number: int) -> None:
        if self._serve is None or number in self._tunnels:
            raise ValueError("the other end opens what it may not")
        if len(self._tunnels) >= _MOST_TUNNELS:
            await self._send(_GONE, number)
            return
        self._add(number)
        task = asyncio.create_task(self._served(number, self._serve))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _served(self, number: int, serve: Serve) -> None:
        near, far = socket.socketpair()
        try:
            async with _opened(near) as ours, _opened(far) as theirs, asyncio.TaskGroup() as ends:
                ends.create_task(self._pass_on(number, *ours))
                ends.create_task(_to_its_end(serve, *theirs))
        except* OSError:
            pass  # nobody was left to read the last of it
        finally:
            near.close()
            far.close()

    def _add(self, number: int) -> None:
        room = asyncio.Queue[bytes | None](_WINDOW + 2)  # and for the words that nothing more comes
        self._tunnels[number] = _Tunnel(room, asyncio.Semaphore(_WINDOW))

    async def _pass_on(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            async with closing(writer), asyncio.TaskGroup() as directions:
                sending = directions.create_task(self._send_all(number, reader))
                self._tunnels[number].sending = sending
                directions.create_task(self._write_all(number, writer))
        except* OSError:
            pass  # whoever is at this end is gone, or at the other
        finally:
            self._tunnels.pop(number, None)
            with contextlib.suppress(OSError):
                await self._send(_GONE, number)

    async def _send_all(self, number: int, reader: asyncio.StreamReader) -> None:
        room = self._tunnels[number].room
        while data := await reader.read(_LARGEST):
            await room.acquire()
            await self._send(_DATA, number, data)
        await self._send(_DATA, number)

    async def _write_all(self, number: int, writer: asyncio.StreamWriter) -> None:
        arrived = self._tunnels[number].arrived
        while data := await arrived.get():
            writer.write(data)
            await writer.drain()
            await self._send(_TAKEN, number)
        if data is None:
            raise ConnectionResetError
        writer.write_eof()

    async def _send(self, kind: int, number: int, data: bytes = b"") -> None:
        if self._is_over:
            raise ConnectionResetError
        frame = _HEAD.pack(kind, number, len(data)) + data
        await asyncio.get_running_loop().run_in_executor(self._writer, self._write, frame)


@contextlib.asynccontextmanager
async def closing(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    """Close a connection at the end, when all is sent; after an error at once."""
    try:
        yield
        writer.close()
        await writer.wait_closed()
    finally:
        _cut(writer)


@contextlib.asynccontextmanager
async def _opened(
    end: socket.socket,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(sock=end)
    try:
        yield reader, writer
    finally:
        _cut(writer)


def _cut(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(AttributeError):  # a transport that has ended knows no loop
        writer.transport.abort()


async def _to_its_end(
    serve: Serve, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    async with closing(writer):
        await serve(reader, writer)


def _first(buffered: bytearray) -> tuple[int, int, bytes] | None:
    """Take the first frame (kind, tunnel, data) out of what has arrived; None for half a one."""
    if len(buffered) < _HEAD.size:
        return None
    kind, number, length = _HEAD.unpack_from(buffered)
    if kind > _GONE or length > _LARGEST:
        raise ValueError("the other end sends what is no frame")
    end = _HEAD.size + length
    if len(buffered) < end:
        return None
    data = bytes(buffered[_HEAD.size : end])
    del buffered[:end]
    return kind, number, data
