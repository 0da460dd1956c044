"""Answers of servers: read up to a bound, as one may be broken or hostile and costs memory."""

import json
import re
from collections.abc import AsyncIterable
from typing import Any

TOO_LONG = "an answer of more than 16 MB, which no reply has"

_LONGEST_REPLY = 16 * 2**20  # bytes
_ERROR = 400
_LONGEST_ERROR = 64 * 2**10  # the rest is left unread
_REDIRECTED = (
    "the server redirects to another address, which is not followed, as it would get the prompt; "
    "if you trust it, set base_url to it"
)
_THOUGHTS = re.compile(r"\A<(?:budget:)?think(?:ing)?>.*?</(?:budget:)?think(?:ing)?>", re.DOTALL)


async def bounded(status: int, chunks: AsyncIterable[bytes]) -> tuple[int, bytes]:
    """Return status and content of an answer; those of an error for a redirect or too long a reply.

    Args:
        status: Its HTTP status.
        chunks: Its content, not compressed.
    """
    if 300 <= status < _ERROR:
        return 421, _error_body(f"{status}: {_REDIRECTED}")
    most = _LONGEST_REPLY if status < _ERROR else _LONGEST_ERROR
    content = bytearray()
    async for chunk in chunks:
        content += chunk
        if len(content) > most:
            return (
                (502, _error_body(TOO_LONG)) if status < _ERROR else (status, bytes(content[:most]))
            )
    return status, bytes(content[:most])


def _error_body(message: str) -> bytes:
    return json.dumps({"error": {"message": message}}).encode()


def read_completion(content: bytes) -> tuple[str, dict[str, Any]]:
    """Return a chat completion's reply without thoughts, and its usage, {} where it has none.

    What is odd beside the reply does not lose it, since it is paid for.

    Raises:
        ValueError: It is no completion.
    """
    try:
        answer = json.loads(content.decode(errors="replace"), strict=False)
        text = answer["choices"][0]["message"].get("content") or ""
        usage = answer.get("usage")
    except (LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"no completion: {error}") from None
    if not isinstance(text, str):
        raise ValueError(f"{type(text).__name__} in place of a reply's text")  # noqa: TRY004
    return _THOUGHTS.sub("", text), usage if isinstance(usage, dict) else {}
