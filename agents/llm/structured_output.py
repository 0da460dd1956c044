"""Structured replies: requests for fields in the form a provider takes, and their parsing.

Providers differ in what they take, and lists of their features are wrong both ways. So a request is
tried and, when the provider complains of a part of it, that part is replaced by its next form:
JSON schema → JSON object with the schema in the prompt → the same, asked for by the prompt alone.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from agents.llm.reply import valid_unicode

Mode = Literal["json_schema", "json_object", "text"]

_NOT_SENT = ("title", "default")  # of a field's schema
# What complaints name → the part of a request, and its forms in the order in which they are tried.
_LADDERS = (
    ("limit", re.compile(r"max_\w*tokens"), ("max_tokens", "max_completion_tokens")),
    ("temperature", re.compile(r"temperature"), (True, False)),
    ("system", re.compile(r"system.?(role|message|prompt|instruction)|[\"'`]system[\"'`]"
                          r"|roles must alternate", re.IGNORECASE), (True, False)),
    ("mode", re.compile(
        r"response.?(format|schema|mime)|schema|json.?(object|mode)|structured.?output|grammar"
        r"|guided|additional.?properties|max.?length|\bstrict\b|\benum\b", re.IGNORECASE,
    ), ("json_schema", "json_object", "text")),
)  # fmt: skip
# What is said of a limit that is out of bounds.
_OF_BOUNDS = re.compile(
    r"too (large|big|high|many)|at (most|least)|range|exceed|(less|greater) than|[<>]=|must be",
    re.IGNORECASE,
)
# What servers leave at the edges of a reply: marks of a text's or turn's end, signs without width.
_MARK = (
    r"[\s\0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\ufffe]"
    r"|<\|[^<>|\s]{1,40}\|>|<\uff5c[^<>\uff5c\s]{1,40}\uff5c>|</?s>|\[/?INST\]|[`~]"
    r"|<(?:end_of_turn|start_of_turn|end_of_utterance|eos|bos|pad|eot|eod|unk|EOT|end)>"
)
_NAMES = r"assistant|model|final|json[5c]?|text|python|javascript"  # of a turn or a code block
_BEFORE = re.compile(rf"(?:{_MARK}|{_NAMES})*", re.IGNORECASE)
_AFTER = re.compile(rf"(?:{_MARK})*", re.IGNORECASE)
_END_OF_THOUGHTS = "</think>"
_THOUGHTS = re.compile(r"/think|think\s*>", re.IGNORECASE)


class Reply(BaseModel):
    """Base of all structured replies; a docstring is part of the schema, and so of the recipe."""

    model_config = ConfigDict(frozen=True, extra="forbid")


ReplyType = TypeVar("ReplyType", bound=Reply)


@dataclass(frozen=True)
class RequestForm:
    """The form in which a structured reply is requested: the first that was not refused.

    Attributes:
        mode: JSON schema, JSON object or plain text.
        temperature: Whether a temperature is sent; some models refuse any.
        limit: Name of the limit of a reply's tokens.
        system: Whether the system text is a message of its own.
    """

    mode: Mode = "json_schema"
    temperature: bool = True
    limit: str = "max_tokens"
    system: bool = True

    def simpler(self, complaint: str) -> "RequestForm | None":
        """Return the form that avoids what the provider complains of first, None without one."""
        named: list[tuple[int, RequestForm]] = []
        for part, names, forms in _LADDERS:
            form, found = getattr(self, part), names.search(complaint)
            if part == "limit" and _OF_BOUNDS.search(complaint):  # under whatever name
                continue
            if found and form in forms[:-1]:
                change: dict[str, Any] = {part: forms[forms.index(form) + 1]}
                named.append((found.start(), replace(self, **change)))
        return min(named, key=lambda place: place[0])[1] if named else None


def is_of_limit(complaint: str) -> bool:
    """Return True if a provider complains of the limit of a reply's tokens."""
    return _LADDERS[0][1].search(complaint) is not None


def schema_of(reply_type: type[Reply], field_limit: int | None) -> dict[str, Any]:
    """Return the reply's JSON schema, in which all is required, its free texts bounded if asked."""
    fields = json.loads(_fields_of(reply_type))  # a copy each time: callers may change it
    properties = {
        name: {key: value for key, value in field.items() if key not in _NOT_SENT}
        for name, field in fields.items()
    }
    for field in properties.values():
        if field_limit and field.get("type") == "string" and "enum" not in field:
            field["maxLength"] = field_limit
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@cache
def _fields_of(reply_type: type[Reply]) -> str:
    """Return the fields' schemas as JSON; pydantic needs half a millisecond to make them."""
    return json.dumps(reply_type.model_json_schema()["properties"])


def response_format(mode: Mode, schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the request's ``response_format``, None for plain text."""
    if mode == "json_schema":
        body = {"name": "reply", "schema": schema, "strict": True}
        return {"type": "json_schema", "json_schema": body}
    return {"type": "json_object"} if mode == "json_object" else None


def format_instruction(mode: Mode, schema: dict[str, Any]) -> str:
    """Return the addition to the system text where the request cannot carry the schema."""
    if mode == "json_schema":
        return ""
    return f"\nReply with one JSON object of this schema and nothing else:\n{json.dumps(schema)}"


def read(text: str, reply_type: type[ReplyType], given: str = "") -> ReplyType:
    """Return the reply that a text is: one JSON object, perhaps between marks, after thoughts.

    Marks are those of servers and of code blocks. Nothing else may stand beside the object: one in
    prose may be a draft, or quoted from what is judged. Fields with a default may be absent, as
    they are from replies that were stored before these were.

    Args:
        text: What the model said.
        reply_type: What was asked for.
        given: What the model was sent. Where it speaks of thoughts, their end may be a quote.

    Raises:
        ValueError: The text is no such reply; the message says it to the model.
    """
    try:
        fields = _object(text)
    except ValueError:
        if _THOUGHTS.search(given):
            raise
        fields = _object(text.rpartition(_END_OF_THOUGHTS)[2])
    return reply_type.model_validate(fields)


def _object(text: str) -> dict[str, Any]:
    """Return the one JSON object that a text is."""
    start, end = max(text.find("{"), 0), text.rfind("}") + 1
    try:
        # Weak models break lines inside strings.
        value = json.loads(text[start:end], strict=False, object_pairs_hook=_object_of)
    except (json.JSONDecodeError, RecursionError):
        value = None
    is_alone = _BEFORE.fullmatch(text, 0, start) and _AFTER.fullmatch(text, end)
    if not (isinstance(value, dict) and is_alone):
        raise ValueError("the reply is not one JSON object and nothing else")
    # JSON's escapes can make lone surrogates, which no file can hold.
    texts = {name: valid_unicode(text) for name, text in value.items() if isinstance(text, str)}
    return value | texts


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of pairs, none of whose keys is there twice: values may contradict."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        [(repeated, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the reply has the field {repeated!r} twice in one object")
    return fields
