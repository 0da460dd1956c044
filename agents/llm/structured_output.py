"""Structured replies: requests for fields in the format a provider takes, and their parsing.

Providers differ in the response formats that they take, and lists of their features are wrong both
ways. So a format is tried and, when the provider complains of it, replaced by the next simpler one:
JSON schema → JSON object with the schema in the prompt → the same, asked for by the prompt alone.
"""

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from agents.llm.reply import valid_unicode

Mode = Literal["json_schema", "json_object", "text"]

_SIMPLER: dict[Mode, Mode] = {"json_schema": "json_object", "json_object": "text"}
_NOT_SENT = ("title", "default")  # of a field's schema
_FORMAT_COMPLAINT = re.compile(
    r"response.?format|json.?schema|json.?object|structured.?output|grammar|guided", re.IGNORECASE
)
_CODE_BLOCK = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)
_END_OF_THOUGHTS = "</think>"
_THOUGHTS = re.compile(r"/think|think\s*>", re.IGNORECASE)


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
    return f"\nReply with one JSON object of this schema and nothing else:\n{json.dumps(schema)}"


def read(text: str, reply_type: type[ReplyType], given: str = "") -> ReplyType:
    """Return the reply that a text is: one JSON object, perhaps in a code block, after thoughts.

    Nothing else may stand beside it: an object in prose may be a draft, or quoted from what is
    judged. Fields with a default may be absent, as they are from replies that were stored before
    these were.

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
    content = _CODE_BLOCK.sub(r"\1", text.strip())
    try:
        value = json.loads(content, strict=False)  # weak models break lines inside strings
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError("the reply is not one JSON object and nothing else")  # noqa: TRY004
    # JSON's escapes can make lone surrogates, which no file can hold.
    texts = {name: valid_unicode(text) for name, text in value.items() if isinstance(text, str)}
    return value | texts
