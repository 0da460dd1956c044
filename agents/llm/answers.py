"""Answers of servers: read up to a bound, as one may be broken or hostile and costs memory."""

import json
import re
from collections.abc import AsyncIterable
from typing import Any, NamedTuple

TOO_LONG = "an answer of more than 16 MB, which no reply has"

_LONGEST_REPLY = 16 * 2**20  # bytes
_ERROR = 400
_LONGEST_ERROR = 64 * 2**10  # the rest is left unread
_REDIRECTED = (
    "the server redirects to another address, which is not followed, as it would get the prompt; "
    "if you trust it, set base_url to it"
)
_THOUGHTS = re.compile(r"\A<(?:budget:)?think(?:ing)?>.*?</(?:budget:)?think(?:ing)?>", re.DOTALL)
_CUT = ("length", "max_tokens")  # why a reply ended, in lower case
_ODD = (LookupError, TypeError, AttributeError, RecursionError, ValueError)


class Completion(NamedTuple):
    """A chat completion: its text without thoughts, its usage, {} without one, and its end."""

    text: str
    usage: dict[str, Any]
    is_cut: bool


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


def read_completion(content: bytes) -> Completion:
    """Return the reply in a chat completion.

    What is odd beside the reply does not lose it, since it is paid for.

    Raises:
        ValueError: It is no completion.
    """
    answer = completion_of(content)
    [choice, *_], usage = answer["choices"], answer.get("usage")
    return Completion(
        text=_THOUGHTS.sub("", choice["message"]["content"]),
        usage=usage if isinstance(usage, dict) else {},
        is_cut=str(choice.get("finish_reason")).lower() in _CUT,
    )


def completion_of(content: bytes) -> dict[str, Any]:
    """Return a chat completion with a text, though it came in parts, as a stream, with an error.

    Raises:
        ValueError: It is no completion, or an error in its place.
    """
    try:
        answer: dict[str, Any] = _json_of(content)
        message = answer["choices"][0]["message"]
        text = message["content"] = _text_of(message.get("content") or message.get("refusal"))
    except _ODD as error:
        raise ValueError(f"no completion: {error}") from None
    if answer.pop("error", None) and not text:
        raise ValueError("an error in place of a reply")
    return answer


def status_of(content: bytes) -> int:
    """Return the HTTP status that an error without a reply names, 400 without one, else 200.

    Some servers send errors with the status of a success.
    """
    try:
        answer = _json_of(content)
        answer = answer[0] if isinstance(answer, list) else answer
        if not answer.get("error") or answer.get("choices"):
            return 200
        code = int(answer["error"]["code"])
    except _ODD:
        return 400 if b'"error"' in content and b'"choices"' not in content else 200
    return code if _ERROR <= code < 600 else _ERROR


def _json_of(content: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the JSON of an answer; of a stream of chunks what they are together."""
    text = content.decode(errors="replace").removeprefix("\ufeff")
    try:
        return json.loads(text, strict=False)
    except ValueError:
        lines = [line.removeprefix("data:").strip() for line in re.split(r"[\r\n]+", text)]
        chunks = [json.loads(line) for line in lines if line.startswith("{")]
        return _completion_of_chunks(chunks, is_ended="[DONE]" in lines)


def _completion_of_chunks(chunks: list[dict[str, Any]], *, is_ended: bool) -> dict[str, Any]:
    """Return the completion that chunks are; where it breaks off, one without a choice."""
    fields = {name: value for chunk in chunks for name, value in chunk.items() if value is not None}
    firsts = [chunk["choices"][0] for chunk in chunks if chunk.get("choices")]
    parts = [one.get("delta") or one.get("message") or {} for one in firsts]
    ends = [one["finish_reason"] for one in firsts if one.get("finish_reason")]
    text = "".join(_text_of(part.get("content")) for part in parts)
    choice = {
        "index": 0,
        "finish_reason": ends[-1] if ends else None,
        "message": {"role": "assistant", "content": text},
    }
    is_whole = firsts and (ends or is_ended)
    return {**fields, "object": "chat.completion", "choices": [choice] if is_whole else []}


def _text_of(content: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """Return the text of a message, which may be a list of parts; thoughts are none of it."""
    if isinstance(content, list):
        parts = [{"text": part} if isinstance(part, str) else part for part in content]
        content = "".join(part["text"] for part in parts if part.get("type", "text") == "text")
    if not isinstance(content or "", str):
        raise ValueError(f"{type(content).__name__} in place of a reply's text")  # noqa: TRY004
    return content or ""
