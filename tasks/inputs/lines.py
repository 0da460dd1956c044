"""JSON, and JSON Lines written by hand: one object a line, each validated by a model.

Where it says so, a file may be one JSON array of such objects, too. Decoded by Python's own parser:
pyarrow's guesses types and counts the rows of its block alone; DuckDB's puts a line that is cut
short on the one after it.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar, cast

from pydantic import AliasChoices, BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from infra.errors import SourceError
from tasks.inputs.text import printable, read_text_lines

_MANY_DIGITS = re.compile(r"\d{4301}")  # Python's limit of the digits of an integer is 4,300
_TEXT_OR_END = re.compile(r'"(?:[^"\\]|\\.)*"|\}')


class StrictRow(BaseModel):
    """Base of the models of a line: unknown keys and other types are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


RowType = TypeVar("RowType", bound=BaseModel)


class Line(NamedTuple, Generic[RowType]):
    """A valid line, and its place as ``file:line``."""

    place: str
    row: RowType


def read_lines(file: Path, model: type[RowType]) -> Iterator[Line[RowType]]:
    """Yield the lines of a file, as of `read_text_lines`, that are not empty, as they are read.

    Raises:
        SourceError: The file is missing, is not UTF-8, or a line is no JSON object of that model.
    """
    for number, text in read_text_lines(file):
        if text.strip():
            value = decode_json(text, printable(file), number)
            place = f"{printable(file)}:{number}"
            yield Line(place, validated(place, value, model))


def read_items(file: Path, model: type[RowType]) -> Iterator[Line[RowType]]:
    """Yield the lines of a file as `read_lines` does, or the items of a JSON array, read whole.

    Raises:
        SourceError: The file is missing, is not UTF-8, or an item does not fit the model.
    """
    first = next((text for _, text in read_text_lines(file) if text.strip()), "")
    if not first.lstrip().startswith("["):
        yield from read_lines(file, model)
        return
    text = "\n".join(text for _, text in read_text_lines(file))
    items = decode_json(text, printable(file))
    for number, item in enumerate(cast("list[object]", items), 1):
        place = f"{printable(file)}, item {number}"
        yield Line(place, validated(place, item, model))


def validated(place: str, value: object, model: type[RowType]) -> RowType:
    """Return a value as a model's instance.

    Raises:
        SourceError: It does not fit; one message for all that is wrong with it.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = [(".".join(map(str, item["loc"])), item["msg"]) for item in error.errors()]
        wrong = "; ".join(": ".join(filter(None, problem)) for problem in found)
        known = ", ".join(_key(name, field) for name, field in model.model_fields.items())
        raise SourceError(f"{place}: {wrong} (the keys are {known})") from None


def _key(name: str, field: FieldInfo) -> str:
    """Return the key that a file has for a field, the first of several."""
    alias = field.validation_alias
    return str((alias.choices[0] if isinstance(alias, AliasChoices) else alias) or name)


def refuse_repeated(ids: Iterable[tuple[str | None, str]]) -> None:
    """Raise a `SourceError` when an id, of pairs of id or None and its place, is given twice."""
    places: dict[str, str] = {}
    for identity, place in ids:
        if identity is not None:
            if identity in places:
                raise SourceError(taken(identity, place, places[identity]))
            places[identity] = place


def taken(identity: str, place: str, earlier: str) -> str:
    """Return the message about an id that is given at two places."""
    return f"{place}: id {identity!r} is taken already by {earlier}: give each its own"


class _RepeatedKeyError(ValueError):
    """An object has a key twice: which of those that end in the text, and the key."""


class _Objects:
    """Makes the objects of a text in the order in which they end."""

    made = 0

    def distinct(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        """Return an object without repeated keys."""
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated = next(key for key in found if keys.count(key) > 1)
            raise _RepeatedKeyError(self.made, repeated)
        self.made += 1
        return found


def _line_of_end(text: str, number: int) -> int:
    """Return the line in which an object of a text ends."""
    ends = (found.start() for found in _TEXT_OR_END.finditer(text) if found[0] == "}")
    return text.count("\n", 0, next(islice(ends, number, None))) + 1


def decode_json(text: str, file: str, line: int | None = None) -> object:
    """Return the value of a JSON text.

    Args:
        text: The text.
        file: The file that holds it, for messages.
        line: The number of its line, where the text is one line of the file; otherwise messages
            count lines from the text's first.

    Raises:
        SourceError: The text is not JSON, is nested too deeply, or holds a key twice, half of a
            surrogate pair or a number of thousands of digits.
    """
    place = file if line is None else f"{file}:{line}"
    try:
        value = json.loads(text, object_pairs_hook=_Objects().distinct)
        json.dumps(value, ensure_ascii=False).encode()
    except _RepeatedKeyError as error:
        number, key = error.args
        raise SourceError(
            f"{file}:{line or _line_of_end(text, number)}: an object has the key {key!r} twice: "
            "keep the one that is meant"
        ) from None
    except json.JSONDecodeError as error:
        raise SourceError(
            f"{file}:{line or error.lineno}: column {error.colno}: {error.msg}: this is no "
            "complete JSON; the file may be truncated"
        ) from None
    except UnicodeEncodeError:
        raise SourceError(
            f"{place}: half of a surrogate pair (\\ud800 to \\udfff) is no character: remove it"
        ) from None
    except RecursionError:
        raise SourceError(f"{place}: nested too deeply: write flat JSON") from None
    except ValueError:
        digits = _MANY_DIGITS.search(text)
        before = text.count("\n", 0, digits.start()) if digits else 0
        raise SourceError(
            f"{file}:{line or before + 1}: a number of more than 4,300 digits: shorten it"
        ) from None
    return value
