"""The proxy connects to an installation's own places alone, and says why to nobody else."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandbox.packages import proxy as proxies
from sandbox.packages.proxy import Proxy, usual_way

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
PATIENCE_S = 60


@asynccontextmanager
async def listening(serve: Serve) -> AsyncIterator[str]:
    """Give the place of a server, which ends when its connections have ended."""
    serving = set[asyncio.Task[None]]()

    async def to_its_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer)
        await closed(writer)

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.create_task(to_its_end(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    async with server:
        yield "{}:{}".format(*server.sockets[0].getsockname())
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*serving)


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


class Site:
    """A server that notes the heads of requests and, if it may, sends back what follows one."""

    def __init__(self) -> None:
        self.heads: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while "Connection: close" not in self.heads[-1] and (data := await reader.read(1000)):
            writer.write(data)
        writer.write(b"the end")


async def answer(place: str, request: bytes, *, ends: bool = True) -> bytes:
    """Return all that a server answers to some bytes, after which nothing more may follow."""
    host, _, port = place.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        if ends:
            writer.write_eof()
        async with asyncio.timeout(PATIENCE_S):
            return await reader.read()
    finally:
        await closed(writer)


def direct(_: str) -> str:
    return ""


async def through(proxy: Proxy, request: bytes, *, ends: bool = True) -> bytes:
    async with listening(proxy.serve) as place:
        return await answer(place, request, ends=ends)


def first_line(answered: bytes) -> str:
    return answered.partition(b"\r\n")[0].decode()


async def test_a_connection_to_an_own_place_carries_all_bytes_and_its_half_close() -> None:
    site = Site()
    async with listening(site.serve) as place:
        request = f"CONNECT {place} HTTP/1.1\r\nHost: other.example\r\n\r\nGET / HTTP/1.0\r\n\r\n"
        answered = await through(Proxy([place], direct), request.encode() + b"\0" * 300_000)
    connected, _, rest = answered.partition(b"\r\n\r\n")
    assert connected == b"HTTP/1.1 200 Connected"
    assert rest == b"HTTP/1.1 200 OK\r\n\r\n" + b"\0" * 300_000 + b"the end"
    assert site.heads == ["GET / HTTP/1.0\r\n\r\n"]


async def test_a_file_is_asked_for_from_the_place_that_was_checked_and_once() -> None:
    site = Site()
    async with listening(site.serve) as place:
        request = (
            f"GET http://user:word@{place}/simple/six/?a=b#c HTTP/1.1\r\nHost: other.example\r\n"
            "Accept: text/html\r\nProxy-Authorization: Basic x\r\nConnection: keep-alive\r\n"
            "Content-Length: 5\r\n\r\n"
        )
        follows = b"GET http://other.example/ HTTP/1.1\r\n\r\n"
        answered = await through(Proxy([place], direct), request.encode() + follows, ends=False)
    (head,) = site.heads
    assert head.splitlines() == [
        "GET /simple/six/?a=b HTTP/1.1",
        f"Host: {place}",
        "Accept: text/html",
        "Connection: close",
        "",
    ]
    assert answered == b"HTTP/1.1 200 OK\r\n\r\nthe end"


@pytest.mark.parametrize(
    ("request_line", "place"),
    [
        ("CONNECT other.example:443 HTTP/1.1", "other.example:443"),
        ("CONNECT OTHER.example:443 HTTP/1.1", "other.example:443"),
        ("CONNECT a.example:22 HTTP/1.1", "a.example:22"),
        ("CONNECT 169.254.169.254:80 HTTP/1.1", "169.254.169.254:80"),
        ("CONNECT [::1]:443 HTTP/1.1", "::1:443"),
        ("GET http://other.example/a.example HTTP/1.1", "other.example:80"),
        ("GET http://a.example@other.example/ HTTP/1.1", "other.example:80"),
        ("GET http://a.example:80@other.example/ HTTP/1.1", "other.example:80"),
        ("GET http://a.example.other.example/ HTTP/1.1", "a.example.other.example:80"),
        ("HEAD http://a.example./ HTTP/1.1", "a.example.:80"),
    ],
)
async def test_another_place_is_refused_by_name(request_line: str, place: str) -> None:
    proxy = Proxy(["a.example:443", "a.example:80"], direct)
    answered = await through(proxy, f"{request_line}\r\nHost: a.example\r\n\r\n".encode())
    reason = f"{place} is no place of this installation"
    assert first_line(answered) == f"HTTP/1.1 403 {reason}"
    assert proxy.refused == [reason]


async def test_no_name_is_looked_up_but_an_own_places(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    loop = asyncio.get_running_loop()
    look_up = loop.getaddrinfo

    async def noted(host: object, *args: object, **options: object) -> object:
        asked.append(host)
        return await look_up("127.0.0.1", *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(loop, "getaddrinfo", noted)
    site = Site()
    async with listening(site.serve) as place, listening(Site().serve):
        port = place.rpartition(":")[2]
        proxy = Proxy([f"a.example:{port}"], direct)
        async with listening(proxy.serve) as own:
            asked.clear()
            for host in ("a.example", "secret.other.example"):
                await answer(own, f"CONNECT {host}:{port} HTTP/1.1\r\n\r\n\r\n\r\n".encode())
    assert [host for host in asked if host != "127.0.0.1"] == ["a.example"]


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"", 400),
        (b"\0\xff\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET ftp://a.example/ HTTP/1.1\r\n\r\n", 400),
        (b"GET https://a.example/ HTTP/1.1\r\n\r\n", 400),
        (b"GET http://a.example:x/ HTTP/1.1\r\n\r\n", 400),
        (b"GET http://a.example:99999/ HTTP/1.1\r\n\r\n", 400),
        (b"GET http://[/ HTTP/1.1\r\n\r\n", 400),
        (b"GET http://a.example/\r\n\r\n", 400),
        (b"GET http://a.example/ HTTP/2\r\n\r\n", 400),
        (b"CONNECT a.example:443/path HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT user@a.example:443?x HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT  HTTP/1.1\r\n\r\n", 400),
        (b"POST http://a.example/ HTTP/1.1\r\n\r\n", 405),
        (b"GET http://a.example/ HTTP/1.1\r\nHalf: ", 400),
    ],
)
async def test_nonsense_is_answered_and_connects_to_nothing(
    request_bytes: bytes, status: int
) -> None:
    proxy = Proxy(["a.example:80", "a.example:443"], direct)
    answered = await through(proxy, request_bytes)
    assert answered.startswith(b"HTTP/1.1 %d " % status), answered
    assert answered.endswith(b"\r\nContent-Length: 0\r\n\r\n")


async def test_a_huge_head_is_not_waited_for() -> None:
    request = b"GET http://a.example/ HTTP/1.1\r\nHuge: " + b"x" * 200_000
    with contextlib.suppress(ConnectionResetError):  # what was not read takes the answer with it
        assert first_line(await through(Proxy([], direct), request, ends=False)).startswith(
            "HTTP/1.1 431 "
        )


async def test_a_client_that_never_ends_its_request_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proxies, "_PATIENCE_S", 0.2)
    answered = await through(Proxy([], direct), b"GET http://a.exam", ends=False)
    assert first_line(answered) == "HTTP/1.1 504 the request: no end within 0.2 s"


async def test_a_client_that_writes_letter_by_letter_is_served() -> None:
    site = Site()
    async with listening(site.serve) as place, listening(Proxy([place], direct).serve) as own:
        host, _, port = own.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        for letter in f"CONNECT {place} HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n":
            writer.write(letter.encode())
            await asyncio.sleep(0)
        writer.write_eof()
        assert (await reader.read()).endswith(b"the end")
        await closed(writer)


async def test_a_place_that_does_not_answer_is_named() -> None:
    async with listening(Site().serve) as place:
        pass
    answered = await through(Proxy([place], direct), f"CONNECT {place} HTTP/1.1\r\n\r\n".encode())
    assert first_line(answered).startswith(f"HTTP/1.1 502 {place}: ")


async def test_a_server_that_is_cut_ends_the_clients_connection() -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"half")
        await writer.drain()
        writer.transport.abort()

    async with listening(cut) as place:
        request = f"CONNECT {place} HTTP/1.1\r\n\r\n".encode()
        assert await through(Proxy([place], direct), request, ends=False)


@pytest.mark.parametrize("method", ["CONNECT", "GET"])
async def test_this_machines_own_proxy_is_the_way_on_and_gets_its_password(method: str) -> None:
    company = Site()
    async with listening(company.serve) as place:
        proxy = Proxy(["a.example:443", "a.example:80"], lambda _: f"http://me:a%40b@{place}")
        asked = {"CONNECT": "a.example:443", "GET": "http://a.example/x"}[method]
        answered = await through(proxy, f"{method} {asked} HTTP/1.1\r\n\r\n".encode())
        refused = await through(proxy, b"CONNECT b.example:443 HTTP/1.1\r\n\r\n")
    assert answered.startswith(b"HTTP/1.1 200 OK")
    assert first_line(refused).startswith("HTTP/1.1 403 b.example:443")
    (head,) = company.heads
    assert head.startswith(f"{method} {asked} HTTP/1.1\r\nHost: a.example")
    assert f"Proxy-Authorization: Basic {base64.b64encode(b'me:a@b').decode()}\r\n" in head


@pytest.mark.parametrize("way", ["socks5://me:word@near.example:1", "http://", "file:///x"])
async def test_a_proxy_of_an_unknown_kind_is_told_without_its_password(way: str) -> None:
    proxy = Proxy(["a.example:443"], lambda _: way)
    answered = await through(proxy, b"CONNECT a.example:443 HTTP/1.1\r\n\r\n")
    assert first_line(answered).startswith("HTTP/1.1 502 this machine's proxy has an address")
    assert b"word" not in answered


async def test_a_proxy_with_tls_is_asked_with_the_machines_own_authorities(tmp_path: Path) -> None:
    """Without TLS at its other end that fails; the file of authorities was read before."""

    async def plain_words(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"no TLS here")

    async with listening(plain_words) as place:
        missing = Proxy(["a.example:443"], lambda _: f"https://{place}", tmp_path / "none.pem")
        answered = await through(missing, b"CONNECT a.example:443 HTTP/1.1\r\n\r\n")
        assert b"No such file" in answered
        plain = Proxy(["a.example:443"], lambda _: f"https://{place}")
        answered = await through(plain, b"CONNECT a.example:443 HTTP/1.1\r\n\r\n")
    assert answered.startswith(b"HTTP/1.1 502 a.example:443: ")


@pytest.mark.parametrize(
    ("url", "variables", "setting", "way"),
    [
        ("https://a.example", {}, "", ""),
        ("https://a.example", {"https_proxy": "http://p.example:1"}, "", "http://p.example:1"),
        ("http://a.example", {"https_proxy": "http://p.example:1"}, "", ""),
        ("http://a.example", {"HTTP_PROXY": "p.example:1"}, "", "http://p.example:1"),
        ("https://a.example", {"https_proxy": "http://p", "no_proxy": "a.example"}, "", ""),
        ("https://x.a.example", {"https_proxy": "http://p", "NO_PROXY": ".a.example"}, "", ""),
        ("https://10.1.2.3", {"https_proxy": "http://p", "no_proxy": "10.0.0.0/8"}, "", ""),
        ("https://a.example", {"all_proxy": "http://p"}, "", "http://p"),
        (
            "https://a.example",
            {"https_proxy": "http://p", "no_proxy": "*"},
            "http://pips.example:2",
            "http://pips.example:2",
        ),
    ],
)
def test_the_way_is_the_one_that_pip_would_take(
    monkeypatch: pytest.MonkeyPatch, url: str, variables: dict[str, str], setting: str, way: str
) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert usual_way(url, setting) == way
