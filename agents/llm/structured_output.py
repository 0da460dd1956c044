"""Structured replies: requests for fields in the format a provider takes, and their parsing.

Providers differ in the response formats that they take, and lists of their features are wrong both
ways. So a format is tried and, when the provider complains of it, replaced by the next simpler one:
JSON schema → JSON object with the schema in the prompt → plain text with a line before each field.
"""

import json
import re
from collections.abc import Iterator, KeysView, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, islice, permutations
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict

from agents.llm.reply import valid_unicode

Mode = Literal["json_schema", "json_object", "text"]

_SIMPLER: dict[Mode, Mode] = {"json_schema": "json_object", "json_object": "text"}
_NOT_SENT = ("title", "default")  # of a field's schema
_FORMAT_COMPLAINT = re.compile(
    r"response.?format|json.?schema|json.?object|structured.?output|grammar|guided", re.IGNORECASE
)
_FIELD_LINE = re.compile(r"^=== *(\w+) *===[ \t]*$", re.MULTILINE)
_OBJECT = re.compile(r"\{\s*\\?[\"'`\u201c\u2018]")
_BEGUN = r"\{{\s*\\?[\"'`\u201c\u2018](?:{names})\\?\W\s*:"  # also where it is no JSON
_MOST_OBJECTS = 1_000  # that are tried: what nests without end costs no time
_ORDERS = 120  # of five fields
_BETWEEN = re.compile(r"(?:\\[nrt]|[^\w{}:,=])+")
_PLACEHOLDER = re.compile(r"<.*>|\W+", re.DOTALL)
_THOUGHT = re.compile(r"/think|think\s*>", re.IGNORECASE)
_CODE_BLOCK = re.compile(r"\A```\w*\n(.*?)\n?```\Z", re.DOTALL)


class Reply(BaseModel):
    """Base of all structured replies; a docstring is part of the schema, and so of the recipe."""

    model_config = ConfigDict(frozen=True, extra="forbid")


ReplyType = TypeVar("ReplyType", bound=Reply)
Candidate = tuple[str, dict[str, Any] | None]


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


def read(text: str, reply_type: type[ReplyType], given: str = "") -> ReplyType:
    """Return the one reply that the text holds, in whichever mode it was asked for.

    Fields with a default may be absent, as they are from replies that were kept before these were.

    A text with several is not decided: one may be a draft, or quoted from what is judged. Likewise
    one with an object that was meant as the reply and is none, since the next may be a quote.
    Templates and thoughts are no reply.

    Args:
        text: What the model said.
        reply_type: What was asked for.
        given: What the model was told: no part of it that is repeated word for word is a reply.

    Raises:
        ValueError: The text holds no such reply, or several; the message says it to the model.
    """
    fields = reply_type.model_fields.items()
    names = dict.fromkeys(name for name, field in fields if field.is_required()).keys()
    replies: list[ReplyType] = []
    none = f"the reply is no JSON object with the fields {', '.join(names)}"
    problem, told = none, _bare(given)
    for raw, candidate in _candidates(text, names, given):
        if candidate is None:
            raise ValueError(none)
        if _stands_in(told, raw, candidate):
            raise ValueError("the reply repeats one that stands in the messages: write your own")
        try:
            replies.append(reply_type.model_validate(_with_valid_unicode(candidate)))
        except ValueError as error:
            if not _is_template(candidate, reply_type):
                raise
            problem = str(error)
    if not replies:
        raise ValueError(problem)
    if any(reply != replies[0] for reply in replies):
        raise ValueError("the reply holds several that differ: write one, without drafts or quotes")
    return replies[0]


def _bare(text: str) -> str:
    """Return a text without blanks, quotation marks, escapes and marks of comments."""
    return _BETWEEN.sub("", text)


def _stands_in(told: str, raw: str, fields: dict[str, Any]) -> bool:
    """Return whether a reply is part of bare text as it is, or as an object in another order."""
    orders = islice(permutations(f"{name}:{value}" for name, value in fields.items()), _ORDERS)
    texts = chain([raw], (f"{{{','.join(order)}}}" for order in orders))
    return bool(told) and any(_bare(text) in told for text in texts)


def _is_template(fields: dict[str, Any], reply_type: type[Reply]) -> bool:
    """Return whether a field has all its options for a value, or a placeholder."""
    for name, value in fields.items():
        field = reply_type.model_fields.get(name)
        options = {*get_args(field.annotation)} if field else set()
        if options and _PLACEHOLDER.fullmatch(str(value)):
            return True
        if options and options <= {option.strip() for option in str(value).split("|")}:
            return True
    return False


def _with_valid_unicode(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with lone surrogates, which JSON's escapes can make, replaced."""
    return {
        name: valid_unicode(value) if isinstance(value, str) else value
        for name, value in fields.items()
    }


def _candidates(text: str, names: KeysView[str], given: str) -> Iterator[Candidate]:
    """Yield what has all the fields and does not end within thoughts, each with its text.

    In place of the fields there is None for an object that was begun as a reply and is none.
    """
    begun = re.compile(_BEGUN.format(names="|".join(names)))
    first = begun.search(text) if _THOUGHT.search(given) else None  # else no end is quoted
    thoughts = text.rfind("</think>", 0, first.start() if first else len(text))
    lines = list(_FIELD_LINE.finditer(text, max(thoughts, 0)))
    own = range(thoughts + 1, lines[0].start() if lines else len(text))
    for start, end, value in _objects(text, names):
        if value and end > thoughts:
            yield text[start:end], value
        elif not value and start in own and (start == end or begun.match(text, start)):
            yield text[start:], None
    yield from _in_lines(text, lines, names)


def _objects(text: str, names: KeysView[str]) -> Iterator[tuple[int, int, dict[str, Any] | None]]:
    """Yield begin and end of each object, and its fields if it has all; last where search ends."""
    decoder = json.JSONDecoder(strict=False)  # weak models break lines inside strings
    tries = end = 0
    for opening in _OBJECT.finditer(text):
        start = opening.start()
        if start < end:
            continue
        tries += 1
        if tries > _MOST_OBJECTS:
            yield start, start, None
            return
        try:
            value, after = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value, after = {}, len(text)
        is_whole = value.keys() >= names
        end = after if is_whole else end
        yield start, after, value if is_whole else None


def _in_lines(
    text: str, lines: Sequence[re.Match[str]], names: KeysView[str]
) -> Iterator[Candidate]:
    """Yield what has all the fields below lines with their names: twice where one comes twice."""
    ends = [line.start() for line in lines[1:]] + [len(text)]
    fields = [
        (line[1], _CODE_BLOCK.sub(r"\1", text[line.end() : end].strip()))
        for line, end in zip(lines, ends, strict=False)  # no line, one end
    ]
    if dict(fields).keys() >= names:
        raw = text[lines[0].start() : lines[-1].end()]
        yield from ((raw, dict(found)) for found in (reversed(fields), fields))
