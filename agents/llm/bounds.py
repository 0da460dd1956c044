"""Bounds of what a server may answer: it may be broken or hostile, and its answer costs memory."""

import json
from collections.abc import AsyncIterable

TOO_LONG = "an answer of more than 16 MB, which no reply has"

_LONGEST_REPLY = 16 * 2**20  # bytes
_ERROR = 400
_LONGEST_ERROR = 64 * 2**10  # the rest is left unread
_REDIRECTED = (
    "the server redirects to another address, which is not followed, as it would get the prompt; "
    "if you trust it, set base_url to it"
)


async def bounded(status: int, chunks: AsyncIterable[bytes]) -> tuple[int, bytes]:
    """Return status and content of an answer; those of an error for a redirect or too long a reply.

    Args:
        status: Its HTTP status.
        chunks: Its content, not compressed.
    """
    if 300 <= status < _ERROR:
        return 421, _told(f"{status}: {_REDIRECTED}")
    most = _LONGEST_REPLY if status < _ERROR else _LONGEST_ERROR
    content = bytearray()
    async for chunk in chunks:
        content += chunk
        if len(content) > most:
            return (502, _told(TOO_LONG)) if status < _ERROR else (status, bytes(content[:most]))
    return status, bytes(content)


def _told(message: str) -> bytes:
    return json.dumps({"error": {"message": message}}).encode()
