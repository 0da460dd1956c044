"""Answers of servers, read leniently: what is odd beside a reply does not lose the paid reply."""

import json
import re
from contextlib import suppress
from typing import Any

from agents.llm.reply import plausible_count, valid_unicode

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_THOUGHTS = re.compile(r"\A<(?:budget:)?think(?:ing)?>.*?</(?:budget:)?think(?:ing)?>", re.DOTALL)
_TEXTS = ("text", "output_text")  # parts of a reply
_LONGEST_NUMBER = 30  # digits; Python refuses to read thousands of them
_COUNTS = (
    "prompt_tokens", "completion_tokens", "total_tokens", "prompt_cache_hit_tokens",
    "cache_read_input_tokens", "cache_creation_input_tokens",
)  # fmt: skip
_DETAILS = {
    "prompt_tokens_details": "prompt_tokens",
    "completion_tokens_details": "completion_tokens",
}


def read_answer(content: bytes) -> dict[str, Any] | None:
    """Return an answer's body with a text and plausible counts, None where it is no JSON object."""
    answer = _read_object(content)
    with suppress(LookupError, TypeError):
        message = answer["choices"][0]["message"]  # type: ignore[index]
        message["content"] = _text_of(message["content"])
    return answer and {**answer, "usage": plausible_usage(answer.get("usage"))}


def _read_object(content: bytes) -> dict[str, Any] | None:
    """Return a JSON object, in which halves of surrogate pairs are replaced; None for no object."""
    try:
        text = content.decode(json.detect_encoding(content), "replace")
        value = json.loads(text, parse_int=_integer, strict=False)
        if _SURROGATE.search(text):
            value = json.loads(valid_unicode(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def plausible_usage(usage: object) -> dict[str, Any] | None:
    """Return the known counts of a usage, None where prompt or reply are not counted plausibly."""
    if not isinstance(usage, dict):
        return None
    found = {name: plausible_count(usage.get(name)) for name in _COUNTS}
    counts = {name: count for name, count in found.items() if count is not None}
    if not counts.keys() >= set(_DETAILS.values()):
        return None
    prompt = counts["prompt_tokens"]
    cached = {name: min(count, prompt) for name, count in counts.items() if "cache" in name}
    details = {
        name: _plausible_details(usage[name], counts[whole])
        for name, whole in _DETAILS.items()
        if isinstance(usage.get(name), dict)
    }
    total = prompt + counts["completion_tokens"]
    return counts | cached | {"total_tokens": total} | details


def text_of(answer: object) -> str:
    """Return an answer's reply without the thoughts before it, "" where it has none.

    Raises:
        LookupError: It holds no reply.
        TypeError: Likewise.
    """
    text = answer["choices"][0]["message"].get("content")  # type: ignore[index]
    if not isinstance(text, str | None):
        raise TypeError(f"{type(text).__name__} in place of a reply's text")
    return _THOUGHTS.sub("", text or "")


def _text_of(content: object) -> object:
    """Return a reply's content; of a list of parts the texts, without thoughts and refusals."""
    if not isinstance(content, list):
        return content
    parts = (part for part in content if isinstance(part, dict) and part.get("type") in _TEXTS)
    return "".join(text for part in parts if isinstance(text := part.get("text"), str))


def _plausible_details(details: dict[str, Any], most: int) -> dict[str, int]:
    """Return those parts of a count that are counts and no larger than the whole."""
    counts = {name: plausible_count(value) for name, value in details.items()}
    return {name: count for name, count in counts.items() if count is not None and count <= most}


def _integer(digits: str) -> int | None:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else None
