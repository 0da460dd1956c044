"""Structured replies: requests for fields in the format a provider takes, and their parsing.

Providers differ in the response formats that they take, and lists of their features are wrong both
ways. So a format is tried and, when the provider complains of it, replaced by the next simpler one:
JSON schema → JSON object with the schema in the prompt → plain text with a line before each field.
"""

import json
import re
from collections.abc import Iterator, KeysView
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from agents.llm.cache import valid_unicode

Mode = Literal["json_schema", "json_object", "text"]

_SIMPLER: dict[Mode, Mode] = {"json_schema": "json_object", "json_object": "text"}
_NOT_SENT = ("title", "default")  # of a field's schema
_FORMAT_COMPLAINT = re.compile(
    r"response.?format|json.?schema|json.?object|structured.?output|grammar|guided", re.IGNORECASE
)
_FIELD_LINE = re.compile(r"^=== *(\w+) *===[ \t]*$", re.MULTILINE)
_OBJECT = re.compile(r'\{\s*"')
_MOST_OBJECTS = 1_000  # that are looked at, the last ones: what nests without end costs no time
_CODE_BLOCK = re.compile(r"\A```\w*\n(.*?)\n?```\Z", re.DOTALL)


class Reply(BaseModel):
    """Base of all structured replies; a docstring is part of the schema, and so of the recipe."""

    model_config = ConfigDict(frozen=True, extra="forbid")


ReplyType = TypeVar("ReplyType", bound=Reply)


@dataclass(frozen=True)
class ResponseFormat:
    """The format in which a structured reply is requested: the best that was not refused.

    Attributes:
        mode: JSON schema, JSON object or plain text.
        temperature: Whether a temperature is sent; some models refuse any.
    """

    mode: Mode = "json_schema"
    temperature: bool = True

    def without(self, complaint: str) -> "ResponseFormat | None":
        """Return the format that avoids what the provider complains of, None if there is none."""
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        if self.mode in _SIMPLER and _FORMAT_COMPLAINT.search(complaint):
            return replace(self, mode=_SIMPLER[self.mode])
        return None


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
    """Return what the system text must add where the request cannot carry the schema."""
    if mode == "json_schema":
        return ""
    if mode == "json_object":
        return f"\nReply with one JSON object of this schema:\n{json.dumps(schema)}"
    fields = "\n".join(
        f"=== {name} ===\n({' | '.join(field['enum']) if 'enum' in field else 'text'})"
        for name, field in schema["properties"].items()
    )
    return f"\nReply in plain text instead of JSON, each field below its own line:\n{fields}"


def read(text: str, reply_type: type[ReplyType]) -> ReplyType:
    """Return the one reply that the text holds, in whichever mode it was asked for.

    Fields with a default may be absent, as they are from replies that were kept before these were.

    A text with several is not decided: one may be a draft, or quoted from what is judged. What does
    not validate before it, as a template does not, and thoughts are no reply.

    Raises:
        ValueError: The text holds no such reply, or several; the message says it to the model.
    """
    fields = reply_type.model_fields.items()
    names = dict.fromkeys(name for name, field in fields if field.is_required()).keys()
    replies: list[ReplyType] = []
    problem: ValueError | None = ValueError(
        f"the reply is no JSON object with the fields {', '.join(names)}"
    )
    for candidate in _candidates(text, names):
        try:
            replies.append(reply_type.model_validate(_with_valid_unicode(candidate)))
            problem = None
        except ValueError as error:
            problem = error
    if problem:
        raise problem
    if any(reply != replies[0] for reply in replies):
        raise ValueError("the reply holds several that differ: write one, without drafts or quotes")
    return replies[0]


def _with_valid_unicode(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with lone surrogates, which JSON's escapes can make, replaced."""
    return {
        name: valid_unicode(value) if isinstance(value, str) else value
        for name, value in fields.items()
    }


def _candidates(text: str, names: KeysView[str]) -> Iterator[dict[str, Any]]:
    """Yield what has all the fields and does not end within the model's thoughts."""
    decoder = json.JSONDecoder(strict=False)  # weak models break lines inside strings
    thoughts, end = text.rfind("</think>"), 0
    for opening in list(_OBJECT.finditer(text))[-_MOST_OBJECTS:]:
        if opening.start() < end:
            continue
        try:
            value, after = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            continue
        if value.keys() >= names:
            end = after
            if end > thoughts:
                yield value
    lines = list(_FIELD_LINE.finditer(text, max(thoughts, 0)))
    ends = [line.start() for line in lines[1:]] + [len(text)]
    fields = [
        (line[1], _CODE_BLOCK.sub(r"\1", text[line.end() : end].strip()))
        for line, end in zip(lines, ends, strict=False)  # no line, one end
    ]
    if dict(fields).keys() >= names:
        yield from (dict(reversed(fields)), dict(fields))  # differ where a field comes twice
