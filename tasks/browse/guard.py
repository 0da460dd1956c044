"""The guard of pages: requests to this host, with the token, and forms of these pages alone.

A page of a stranger in the user's browser reaches loopback too. It is kept out by `Host` (a name
of its own that leads here), by `Origin` and a token in each form (a form of its own that is sent
here), and can show none of these pages in a frame.
"""

import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer browsers send no Origin with forms
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_MOST_BYTES, _MOST_FIELDS = 1_000_000, 50
_COOKIE_S = 60 * 24 * 3600  # people label a sample for weeks, and close their browser
_SESSION = re.compile(r"[\w-]{32}", re.ASCII)


@dataclass(frozen=True)
class Guard:
    """The checks of each request before the pages see it.

    Attributes:
        host: The address or name that the server listens at.
        port: Its port.
        token: What a request must show, "" on loopback.
        secret: The key of the forms' tokens, of this process alone.
    """

    host: str
    port: int
    token: str = ""
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    @property
    def address(self) -> str:
        """The address that a browser is to open."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    @property
    def _token_cookie(self) -> str:
        return f"cosqa_token_{self.port}"

    def wrap(self, app: ASGIApp) -> ASGIApp:
        """Return an application that answers what this lets through."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await app(scope, receive, send)
                return
            if scope["type"] != "http":
                return
            request = Request(scope)
            name = f"cosqa_session_{self.port}"  # browsers share cookies among ports
            session = request.cookies.get(name, "")
            if not _SESSION.fullmatch(session):
                session = new_token()
            told = HEADERS | {"Set-Cookie": _cookie(name, session)}  # each visit makes it last
            scope["browser"] = session

            async def with_headers(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] += [
                        (name.lower().encode(), value.encode()) for name, value in told.items()
                    ]
                await send(message)

            answer = self._refusal(request)
            await (answer or app)(scope, receive, with_headers)

        return guarded

    def _refusal(self, request: Request) -> Response | None:
        if not self._is_own(request.headers.get("host", "")):
            return PlainTextResponse("This server has another name.\n", 421)
        if answer := self._ask_for_token(request):
            return answer
        origin = request.headers.get("origin")
        if request.method not in ("GET", "HEAD") and origin != f"http://{request.headers['host']}":
            return PlainTextResponse("This form is no form of these pages.\n", 403)
        return None

    def _is_own(self, given: str) -> bool:
        name, _, port = given.rpartition(":") if not given.endswith("]") else (given, "", "")
        if port != str(self.port):
            return False
        if is_loopback(self.host):
            return name in ("127.0.0.1", "localhost", "[::1]", self.host)
        if name in (self.host, socket.gethostname(), socket.getfqdn()):
            return True
        try:  # an address is no name that a stranger could let lead here
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    def _ask_for_token(self, request: Request) -> Response | None:
        if not self.token:
            return None
        if hmac.compare_digest(
            request.cookies.get(self._token_cookie, "").encode(), self.token.encode()
        ):
            return None
        given = request.query_params.get("token", "")
        if hmac.compare_digest(given.encode(), self.token.encode()):
            rest = [item for item in request.query_params.multi_items() if item[0] != "token"]
            path = request.url.path.lstrip("/")  # two slashes would lead to another host
            answer = RedirectResponse(f"/{path}?{urlencode(rest)}", 303)
            answer.headers.append("Set-Cookie", _cookie(self._token_cookie, self.token))
            return answer
        return PlainTextResponse("Open the address that `cosqa browse` has printed.\n", 401)

    def form_token(self, session: str) -> str:
        """Return the fields that each form of a browser's session has."""
        return hmac.digest(self.secret, session.encode(), "sha256").hex()

    async def form(self, request: Request) -> Mapping[str, str] | None:
        """Return a form's fields, None of one that is too large or was not made for the session."""
        body = bytearray()
        try:
            async for part in request.stream():
                body += part
                if len(body) > _MOST_BYTES:
                    return None
        except ClientDisconnect:
            return None
        try:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:
            return None
        fields = dict(pairs)
        expected = self.form_token(request.scope["browser"])
        is_own = hmac.compare_digest(fields.pop("csrf", "").encode(), expected.encode())
        return fields if is_own else None


def is_loopback(host: str) -> bool:
    """Return True if an address is that of this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def new_token() -> str:
    """Return a token that nobody guesses."""
    return secrets.token_urlsafe(24)


def _cookie(name: str, value: str) -> str:
    return f"{name}={value}; Max-Age={_COOKIE_S}; HttpOnly; SameSite=Strict; Path=/"
