"""JSON Lines files written by hand: one JSON object a line, each validated by a model.

Where it says so, a file may be one JSON array of such objects, too.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Generic, NamedTuple, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from infra.errors import SourceError
from infra.records import Query
from tasks.files.json_text import decode_json
from tasks.files.text import printable, read_text_lines

_TEXTS = ("", ".txt", ".text")


class StrictRow(BaseModel):
    """Base of the models of a line: unknown keys and other types are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


RowType = TypeVar("RowType", bound=BaseModel)


class Line(NamedTuple, Generic[RowType]):
    """A valid line, and its place as ``file:line``."""

    place: str
    row: RowType


class QueryRow(StrictRow):
    """A line of a file of queries: the question as ``query`` or ``text``, and maybe an ``id``."""

    query: str | None = Field(None, min_length=1)
    text: str | None = Field(None, min_length=1)
    id: str | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _has_one_question(self) -> Self:
        if (self.query is None) == (self.text is None):
            raise ValueError('give the question as either "query" or "text"')
        return self


def read_lines(file: Path, model: type[RowType]) -> Iterator[Line[RowType]]:
    """Yield the lines of a file that are not empty, as they are read.

    Args:
        file: As for `read_text_lines`.
        model: The model of a line.

    Raises:
        SourceError: The file is missing, is not UTF-8, or a line is no JSON object of that model.
    """
    for number, text in read_text_lines(file):
        if text.strip():
            value = decode_json(text, printable(file), number)
            place = f"{printable(file)}:{number}"
            yield Line(place, validated(place, value, model))


def read_items(file: Path, model: type[RowType]) -> Iterator[Line[RowType]]:
    """Yield the lines of a file as `read_lines` does, or the items of its JSON array.

    Args:
        file: As for `read_text_lines`; an array is read as a whole.
        model: The model of a line or an item.

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
        wrong = "; ".join(_problem(item["loc"], item["msg"]) for item in error.errors())
        known = ", ".join(field.alias or name for name, field in model.model_fields.items())
        raise SourceError(f"{place}: {wrong} (the keys are {known})") from None


def read_queries(file: Path) -> list[tuple[str | None, Query]]:
    """Return the queries of a file in its order, each with the id it was given.

    A text file, by its name, has one on each line, unless it begins as JSON Lines do.

    Raises:
        SourceError: A line is malformed, a query is empty, an id is given twice, or there is none.
    """
    queries = []
    for place, row in _query_rows(file):
        text = row.query or row.text or ""
        if not text.strip():
            raise SourceError(f"{place}: the query is empty: write one or delete the line")
        queries.append((row.id, Query.of(text, Path(place).name)))
    if not queries:
        raise SourceError(
            f'{file} holds no queries: write lines such as {{"query": "..."}}, or one on each line '
            "of a file that ends with .txt"
        )
    refuse_repeated((identity, query.origin) for identity, query in queries)
    return queries


def _query_rows(file: Path) -> Iterator[Line[QueryRow]]:
    lines = ((number, text) for number, text in read_text_lines(file) if text.strip())
    if file.suffix.lower() not in _TEXTS or next(lines, (0, "{"))[1].lstrip().startswith("{"):
        yield from read_lines(file, QueryRow)
        return
    for number, text in read_text_lines(file):
        if text.strip():
            yield Line(f"{printable(file)}:{number}", QueryRow(query=text.strip()))


def refuse_repeated(ids: Iterable[tuple[str | None, str]]) -> None:
    """Raise a `SourceError` when an id is given at two places.

    Args:
        ids: Pairs of an id, or None where none was given, and its place in the file.
    """
    places: dict[str, str] = {}
    for identity, place in ids:
        if identity is not None:
            if identity in places:
                raise SourceError(taken(identity, place, places[identity]))
            places[identity] = place


def taken(identity: str, place: str, earlier: str) -> str:
    """Return the message about an id that is given at two places."""
    return f"{place}: id {identity!r} is taken already by {earlier}: give each its own"


def _problem(location: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(map(str, location))}: {message}" if location else message
