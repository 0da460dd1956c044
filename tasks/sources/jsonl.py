"""The source of queries, functions and labels in JSON Lines files of your own.

A folder with ``queries.jsonl`` (lines such as ``{"query": "...", "id": "q1"}``), ``codes.jsonl``
(``{"code": "def ...", "id": "c1", "name": "...", "origin": "..."}``) and, when pairs are labelled
already, ``labels.jsonl`` (``{"query": "q1", "code": "c1", "relevance": 1}``). All but the query,
the code and the three parts of a label may be left out.

A function that does not parse is dropped and counted, unless ``filters`` are set otherwise.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from infra.errors import SourceError
from infra.identity import digest
from infra.records import Code, Collected, Label, Query, SourceInfo
from tasks.corpus.merging import Merged
from tasks.corpus.parsed_code import parse_function
from tasks.files.json_lines import StrictRow, read_lines, read_queries, refuse_repeated
from tasks.files.text import state_of
from tasks.filters import CorpusFunction, FilterChain
from tasks.sources import SourceOptions, require_folder, sources

LABELS = "people:jsonl"

_VERSION = "1"  # to be raised when the same files are to give other records


class _CodeRow(StrictRow):
    code: str = Field(min_length=1)
    id: str | None = Field(None, min_length=1)
    name: str = ""
    origin: str = ""


class _LabelRow(StrictRow):
    query: str = Field(min_length=1)
    code: str = Field(min_length=1)
    relevance: float = Field(ge=0, allow_inf_nan=False)


class JsonLinesOptions(SourceOptions):
    """The options of source jsonl."""

    path: Path = Field(description="a folder with queries.jsonl and codes.jsonl")
    filters: tuple[str, ...] = Field(
        ("parseable",), description=SourceOptions.model_fields["filters"].description
    )


@sources.register("jsonl")
class JsonLinesSource:
    """A folder of JSON Lines files.

    Args:
        collection: Name of the collection.
        options: The folder and the filters.

    Raises:
        SourceError: There is no such folder.
    """

    Options: ClassVar[type[SourceOptions]] = JsonLinesOptions

    def __init__(self, collection: str, options: JsonLinesOptions) -> None:
        self._name = collection
        self._options = options
        self._folder = require_folder(options.path)

    @classmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write two queries, two functions and a label, and return the options that read them."""
        files: dict[str, list[dict[str, object]]] = {
            "queries": [{"query": "double it", "id": "q1"}, {"text": "half of it"}],
            "codes": [
                {"code": "def double(x):\n    return x + x\n", "id": "c1"},
                {"code": "def halve(x):\n    return x / 2\n", "name": "h"},
            ],
            "labels": [{"query": "q1", "code": "c1", "relevance": 1}],
        }
        for name, rows in files.items():
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
            (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
        return {"path": folder}

    def fingerprint(self) -> str:
        """Return a digest of the files' names, sizes and times."""
        labels = [self._labels] if self._labels.exists() else []
        state = state_of([self._queries, self._codes, *labels])
        return digest("jsonl", _VERSION, self._name, state, *self._options.other_filters)

    def read(self) -> dict[str, Collected]:
        """Return what the files hold.

        Raises:
            SourceError: A file is missing, a line of it cannot be used, or the filters drop every
                function.
        """
        queries, functions = read_queries(self._queries), _read_functions(self._codes)
        merged = Merged(FilterChain(self._options.filters))
        merged.add_queries(query for _, query in queries)
        for _, function in functions:
            merged.add_function(function)
        if self._labels.exists():
            query_of = {identity: query for identity, query in queries if identity is not None}
            code_of = {identity: item.code for identity, item in functions if identity is not None}
            merged.add_labels(_read_labels(self._labels, query_of, code_of))
        info = SourceInfo(
            name="jsonl", licence="unknown", revision="unknown", location=str(self._folder)
        )
        return {self._name: merged.collected(info)}

    @property
    def _queries(self) -> Path:
        return self._folder / "queries.jsonl"

    @property
    def _codes(self) -> Path:
        return self._folder / "codes.jsonl"

    @property
    def _labels(self) -> Path:
        return self._folder / "labels.jsonl"


def _read_functions(file: Path) -> list[tuple[str | None, CorpusFunction]]:
    rows = list(read_lines(file, _CodeRow))
    if not rows:
        raise SourceError(f'{file} holds no functions: write lines such as {{"code": "def ..."}}')
    refuse_repeated((row.id, place) for place, row in rows)
    return [(row.id, _function(place, row)) for place, row in rows]


def _function(place: str, row: _CodeRow) -> CorpusFunction:
    if not row.code.strip():
        raise SourceError(f"{place}: the code is empty: write a function or delete the line")
    return parse_function(row.code, row.origin or Path(place).name, row.name)


def _read_labels(
    file: Path, query_of: Mapping[str, Query], code_of: Mapping[str, Code]
) -> Iterator[Label]:
    for place, row in read_lines(file, _LabelRow):
        for kind, identity, known in (("query", row.query, query_of), ("code", row.code, code_of)):
            if identity not in known:
                raise SourceError(
                    f"{place}: no {kind} has the id {identity!r}: give it to a line of the {kind} "
                    "file as its id, or delete the label"
                )
        yield Label(
            query_id=query_of[row.query].query_id,
            code_id=code_of[row.code].code_id,
            origin=LABELS,
            relevance=row.relevance,
        )
