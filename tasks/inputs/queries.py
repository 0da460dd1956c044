"""Queries without labels: the files that people write of them, and distinct texts."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from infra.errors import SourceError
from infra.identity import digest
from infra.records import Query, normalise_query
from tasks.inputs.lines import Line, StrictRow, read_lines, refuse_repeated
from tasks.inputs.text import printable, read_text_lines

REPEATED = "query that is there already"
EMPTY = "query without text"

_TEXTS = ("", ".txt", ".text")


@dataclass(frozen=True)
class QueryTexts:
    """Distinct queries.

    Attributes:
        name: What to call them: the benchmark's name, or that of the file or folder.
        texts: White space is folded (`infra.records.normalise_query`).
        left_out: Reason → number of queries that are not taken.
        fingerprint: Digest of the texts in their order.
    """

    name: str
    texts: tuple[str, ...]
    left_out: dict[str, int] = field(default_factory=dict)
    fingerprint: str = ""

    @classmethod
    def of(cls, name: str, texts: Iterable[str]) -> Self:
        """Return the distinct texts in their order; what is left out is counted."""
        times = Counter(map(normalise_query, texts))
        left_out = Counter({EMPTY: times.pop("", 0)})
        left_out[REPEATED] = times.total() - len(times)
        return cls(name, tuple(times), dict(+left_out), digest("queries", *times))

    def __len__(self) -> int:
        return len(self.texts)


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
