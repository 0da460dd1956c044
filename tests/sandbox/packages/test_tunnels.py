"""Many connections over one pair of pipes arrive whole, and none holds up another or the host."""

import asyncio
import contextlib
import gc
import os
import socket
import struct
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandbox.packages.tunnels import Serve, Tunnels
from tests.sandbox.packages.test_proxy import PATIENCE_S, closed

HEAD = struct.Struct(">BII")
OPEN, DATA, TAKEN, GONE = range(4)
MEGABYTE = 2**20


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send all back, and then that it is the end."""
    while data := await reader.read(10_000):
        writer.write(data)
        await writer.drain()
    writer.write(b"the end")


@asynccontextmanager
async def carried(serve: Serve) -> AsyncIterator[int]:
    """Give a port whose connections are carried to a server; nothing is left of them after."""
    near, far = socket.socketpair()
    inside = Tunnels(lambda: near.recv(65_536), near.sendall, None)
    outside = Tunnels(lambda: far.recv(65_536), far.sendall, serve)
    complaints = list[dict[str, object]]()
    asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
    server = await asyncio.start_server(inside.carry, "127.0.0.1", 0)
    running = [asyncio.create_task(one.run()) for one in (inside, outside)]
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for one in (near, far):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*running)
        near.close()
        far.close()
        gc.collect()  # tells of tasks that failed and nobody waited for
        await asyncio.sleep(0)
        assert complaints == []


async def answer(port: int, data: bytes) -> bytes:
    """Return all that a connection brings back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:

        async def send() -> None:
            writer.write(data)
            await writer.drain()
            writer.write_eof()

        async with asyncio.timeout(PATIENCE_S):
            _, answered = await asyncio.gather(send(), reader.read())
            return answered
    finally:
        await closed(writer)


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 5 * MEGABYTE])
async def test_all_bytes_arrive_both_ways_and_a_half_close_too(size: int) -> None:
    data = os.urandom(size)
    async with carried(echo) as port:
        assert await answer(port, data) == data + b"the end"


async def test_what_a_server_wrote_before_it_left_arrives() -> None:
    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(3 * MEGABYTE))

    async with carried(leave) as port:
        assert await answer(port, b"") == bytes(3 * MEGABYTE)


async def test_connections_at_once_are_kept_apart() -> None:
    several = [bytes([number]) * (number * 20_000) for number in range(12)]
    async with carried(echo) as port:
        answers = await asyncio.gather(*(answer(port, data) for data in several))
    assert answers == [data + b"the end" for data in several]


async def test_a_connection_that_nobody_reads_holds_up_no_other_and_keeps_little() -> None:
    sent: list[int] = []

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readexactly(1) == b"x":
            await echo(reader, writer)
        while True:
            writer.write(bytes(MEGABYTE))
            await writer.drain()
            sent.append(MEGABYTE)

    async with carried(endless) as port:
        _, unread = await asyncio.open_connection("127.0.0.1", port)
        unread.write(b"e")
        before = -1
        while before != len(sent):
            before = len(sent)
            await asyncio.sleep(0.3)
        assert (await answer_of_the_first(port)) == b"heard"
        assert sum(sent) < 32 * MEGABYTE
        unread.transport.abort()


async def answer_of_the_first(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"xheard")
    async with asyncio.timeout(PATIENCE_S):
        answered = await reader.readexactly(5)
    await closed(writer)
    return answered


@pytest.mark.parametrize("where", ["client", "server"])
async def test_a_connection_that_is_cut_ends_at_the_other_end(where: str) -> None:
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        if where == "server":
            writer.transport.abort()
            return
        with contextlib.suppress(OSError):
            while True:
                writer.write(bytes(1000))
                await writer.drain()
        ended.set()

    async with carried(serve) as port, asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"x")
        if where == "server":
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
        else:
            await reader.readexactly(1000)
            writer.transport.abort()
            await ended.wait()
        await closed(writer)


class End:
    """The far end of tunnels, written by hand."""

    def __init__(self, serve: Serve | None) -> None:
        near, self.far = socket.socketpair()
        self.far.settimeout(PATIENCE_S)
        self._near = near
        self.said = b""
        self.tunnels = Tunnels(lambda: near.recv(65_536), near.sendall, serve)

    async def hear(self, data: bytes) -> None:
        """Let the tunnels read these bytes and then the end of them."""
        ends = [
            threading.Thread(target=self._write, args=(data,)),
            threading.Thread(target=self._listen),
        ]
        for end in ends:
            end.start()
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self.tunnels.run()
        finally:
            self._near.close()
            for end in ends:
                await asyncio.to_thread(end.join)
            self.far.close()

    def _write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self.far.sendall(data)
            self.far.shutdown(socket.SHUT_WR)

    def _listen(self) -> None:
        while more := self.far.recv(65_536):
            self.said += more


def frame(kind: int, number: int, data: bytes = b"") -> bytes:
    return HEAD.pack(kind, number, len(data)) + data


async def wait_for_ever(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"\xff" * 9, "no frame"),
        (HEAD.pack(DATA, 1, 2**31), "no frame"),
        (HEAD.pack(DATA, 1, 65_537), "no frame"),
        (HEAD.pack(4, 1, 0), "no frame"),
        (frame(OPEN, 1) * 2, "may not"),
        (frame(OPEN, 1) + frame(DATA, 1, b"x") * 100, "more than there is room for"),
        (frame(OPEN, 1) + frame(GONE, 1) * 100, "more than there is room for"),
    ],
)
async def test_an_end_that_breaks_the_protocol_is_an_error(data: bytes, complaint: str) -> None:
    end = End(wait_for_ever)
    with pytest.raises(ValueError, match=complaint):
        await end.hear(data)
    assert end.tunnels._tunnels == {}


async def test_nothing_can_be_opened_from_outside() -> None:
    end = End(None)
    with pytest.raises(ValueError, match="may not"):
        await end.hear(frame(OPEN, 1))


@pytest.mark.parametrize(
    "data",
    [b"", b"\1", frame(DATA, 7, b"x"), frame(TAKEN, 7) * 10, frame(GONE, 7), frame(OPEN, 1)[:5]],
)
async def test_words_about_what_is_gone_and_half_a_frame_are_no_error(data: bytes) -> None:
    end = End(wait_for_ever)
    await end.hear(data)
    assert end.said == b""


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_more_tunnels_than_there_may_be_are_refused_and_take_nothing() -> None:
    before = open_files()
    most: list[int] = []

    async def noted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        most.append(len(end.tunnels._tunnels))
        await wait_for_ever(reader, writer)

    end = End(noted)
    await end.hear(b"".join(frame(OPEN, number) for number in range(1000)))
    refused = {number for number in range(1000) if frame(GONE, number) in end.said}
    assert len(refused) >= 936
    assert max(most, default=0) <= 64
    assert open_files() <= before
