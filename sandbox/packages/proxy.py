"""The only way out of an installing container: an HTTP proxy that connects to its index alone.

It runs on this machine, so that the container needs no network and looks up no name. What it is
asked for is read once, and exactly that place is connected to. Its client is told, as the reason
of an HTTP answer, what is wrong. This machine's own proxies are the way on where it has them.
"""

import asyncio
import base64
import contextlib
import ssl
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from requests.utils import get_environ_proxies, select_proxy

from sandbox.packages.tunnels import closing
from sandbox.packages.wheels_only import place_of

_PATIENCE_S = 30.0  # for the request, and for the connection to its place
_PIECE = 65_536
_MOST_REFUSALS = 20  # that are noted
_LONGEST_REASON = 300
_METHODS = ("GET", "HEAD")
# Between a client and its proxy alone, said anew to the server, or of a body, which there is not.
_NOT_PASSED_ON = frozenset(
    {"connection", "keep-alive", "te", "trailer", "upgrade", "host"}
    | {"content-length", "transfer-encoding", "expect"}
)


class _RefusedError(Exception):
    """A request that is not met: an HTTP status and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason


class _Request(NamedTuple):
    """What a client asks for.

    Attributes:
        method: CONNECT, for a connection to the place, GET or HEAD.
        place: ``host:port``.
        path: Of a file at the place; "" for a connection.
        headers: Lines that are passed on.
    """

    method: str
    place: str
    path: str
    headers: tuple[str, ...]

    @property
    def authority(self) -> str:
        """The place as requests name it."""
        host, _, port = self.place.rpartition(":")
        host = f"[{host}]" if ":" in host else host
        return host if self.method != "CONNECT" and port == "80" else f"{host}:{port}"

    @property
    def url(self) -> str:
        """The address of what is asked for."""
        scheme = "https" if self.method == "CONNECT" else "http"
        return f"{scheme}://{self.authority}{self.path}"

    def head(self, target: str, *further: str) -> bytes:
        """Return the head of the request as it is sent on, with further lines."""
        lines = [f"{self.method} {target} HTTP/1.1", f"Host: {self.authority}", *self.headers]
        if self.method != "CONNECT":
            lines.append("Connection: close")  # the next request may be for another place
        return "\r\n".join([*lines, *further, "", ""]).encode("latin-1")


class Proxy:
    """An HTTP proxy for connections that its caller accepts.

    Args:
        places: What it connects to, each ``host:port``.
        way_to: Returns the proxy on the way to an address, "" for none.
        certificates: The authorities of such a proxy, where they are not the usual ones.

    Attributes:
        refused: Why places that were asked for were not connected to.
    """

    def __init__(
        self,
        places: Collection[str],
        way_to: Callable[[str], str],
        certificates: Path | None = None,
    ) -> None:
        self._places = frozenset(places)
        self._way_to = way_to
        self._certificates = certificates
        self.refused: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Meet the one request of a connection; it is closed by the caller."""
        try:
            request, upstream = await self._met(reader, writer)
        except _RefusedError as refusal:
            reason = refusal.reason[:_LONGEST_REASON].encode("ascii", "replace")
            writer.write(b"HTTP/1.1 %d %b\r\n" % (refusal.status, reason))
            writer.write(b"Connection: close\r\nContent-Length: 0\r\n\r\n")
            with contextlib.suppress(OSError):
                await writer.drain()
            return
        try:
            async with closing(upstream[1]), asyncio.TaskGroup() as directions:
                directions.create_task(_pump(upstream[0], writer))
                if request.method == "CONNECT":
                    directions.create_task(_pump(reader, upstream[1]))
        except* OSError:
            pass  # one of both is gone

    async def _met(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[_Request, tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        place = "the request"
        try:
            async with asyncio.timeout(_PATIENCE_S):
                request = await _read(reader)
                place = request.place
                self._check(place)
                return request, await self._connected(request, writer)
        except TimeoutError as error:
            raise _RefusedError(504, f"{place}: no end within {_PATIENCE_S:g} s") from error
        except OSError as error:
            raise _RefusedError(502, f"{place}: {error}".replace("\n", " ")) from error

    def _check(self, place: str) -> None:
        if place in self._places:
            return
        reason = f"{place} is no place of this installation"
        if len(self.refused) < _MOST_REFUSALS and reason not in self.refused:
            self.refused.append(reason)
        raise _RefusedError(403, reason)

    async def _connected(
        self, request: _Request, client: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a connection on which the request is made, or whose other end is the place."""
        way = self._way_to(request.url)
        if way:
            reader, writer = await self._through(way)
            target = request.authority if request.method == "CONNECT" else request.url
            writer.write(request.head(target, *_credentials(way)))
        else:
            host, _, port = request.place.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            if request.method == "CONNECT":
                client.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            else:
                writer.write(request.head(request.path))
        return reader, writer

    async def _through(self, way: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, _, port = place_of(way).rpartition(":")
        if not host:
            raise _RefusedError(502, "this machine's proxy has an address of an unknown kind")
        context = None
        if way.startswith("https:"):
            context = ssl.create_default_context(cafile=self._certificates)
        return await asyncio.open_connection(host, int(port), ssl=context)


def usual_way(url: str, proxy: str = "") -> str:
    """Return the proxy that pip would take to an address, "" for none.

    Args:
        url: The address.
        proxy: The one that its settings name; without one, variables do.
    """
    way = proxy or select_proxy(url, get_environ_proxies(url, no_proxy=None)) or ""
    return way if "://" in way or not way else f"http://{way}"


def _credentials(way: str) -> list[str]:
    """Return the header that a proxy with a user and a password in its address wants."""
    parts = urlsplit(way)
    if parts.username is None:
        return []
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return [f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}"]


async def _read(reader: asyncio.StreamReader) -> _Request:
    """Return the request of a client; of a file, there is no more than the head."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise _RefusedError(431, "the head of the request is too large") from error
    except asyncio.IncompleteReadError as error:
        raise _RefusedError(400, "the request has no end") from error
    first, *headers = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, _, rest = first.partition(" ")
    target, _, version = rest.rpartition(" ")
    if not version.startswith("HTTP/1."):
        raise _RefusedError(400, "this is no request for a proxy")
    if method == "CONNECT":
        return _Request(method, _place(f"https://{target}", has_path=False), "", ())
    if method not in _METHODS:
        raise _RefusedError(405, f"a proxy for {', '.join(_METHODS)} and CONNECT alone")
    place = _place(target, has_path=True)
    parts = urlsplit(target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Request(method, place, path, tuple(filter(_is_passed_on, headers)))


def _place(url: str, *, has_path: bool) -> str:
    with contextlib.suppress(ValueError):  # a port or an IPv6 address that is none
        place, parts = place_of(url), urlsplit(url)
        is_whole = parts.scheme == "http" if has_path else url == f"https://{parts.netloc}"
        if place and is_whole:
            return place
    raise _RefusedError(400, "this is no address of the web")


def _is_passed_on(header: str) -> bool:
    name = header.partition(":")[0].strip().lower()
    return not name.startswith("proxy-") and name not in _NOT_PASSED_ON


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_PIECE):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
