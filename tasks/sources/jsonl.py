"""The source of queries, functions and labels in JSON Lines files of your own.

A folder with ``queries.jsonl`` (lines such as ``{"query": "...", "id": "q1"}``), ``codes.jsonl``
(``{"code": "def ...", "id": "c1", "name": "...", "origin": "..."}``) and, when pairs are labelled
already, ``labels.jsonl`` (``{"query": "q1", "code": "c1", "relevance": 1}``). All but the query,
the code and the three parts of a label may be left out. A function may have a ``licence`` (SPDX's
name), a ``url`` and a ``split``. ``codes.jsonl`` may be larger than memory, and each
file be compressed (``codes.jsonl.gz``).

A function that does not parse is dropped and counted, unless ``filters`` are set otherwise.
"""

import json
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from pydantic import Field

from infra.collected import Item
from infra.errors import SourceError
from infra.identity import CodeId, QueryId, mark
from infra.records import Label, SourceInfo
from infra.text import is_blank
from tasks.benchmarks.licences import licence_of_folder
from tasks.benchmarks.trec import write_lines
from tasks.corpus.functions import parse_function
from tasks.corpus.merging import Deduplicator
from tasks.filters import CorpusFunction
from tasks.inputs.lines import Line, StrictRow, read_lines, taken
from tasks.inputs.pairs import read_queries
from tasks.inputs.text import file_named
from tasks.sources import FolderOptions, FolderSource, Names, filters_by_default, sources

LABELS = "people:jsonl"


class _CodeRow(StrictRow):
    code: str = Field(min_length=1)
    id: str | None = Field(None, min_length=1)
    name: str = ""
    origin: str = ""
    licence: str = ""
    url: str = ""
    split: str = ""


class _LabelRow(StrictRow):
    query: str = Field(min_length=1)
    code: str = Field(min_length=1)
    relevance: float = Field(ge=0, allow_inf_nan=False)


class JsonLinesOptions(FolderOptions):
    """The options of source jsonl."""

    path: Path = Field(description="a folder with queries.jsonl and codes.jsonl")
    filters: Names = filters_by_default("parseable")


@sources.register("jsonl")
class JsonLinesSource(FolderSource[JsonLinesOptions]):
    """A folder of JSON Lines files."""

    version = "3"

    def __init__(self, collection: str, options: JsonLinesOptions) -> None:
        super().__init__(collection, options)
        self._licence = licence_of_folder(self._folder)

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
            write_lines(folder / f"{name}.jsonl", map(json.dumps, rows))
        return {"path": folder}

    def inputs(self) -> list[Path]:
        """Return the files of queries and codes, and that of labels where it is there."""
        labels = filter(os.path.lexists, [self._file("labels")])
        return [self._file("queries"), self._file("codes"), *labels]

    def chosen(self) -> Iterable[object]:
        """Return the options, and the licence of the folder."""
        return [*super().chosen(), self._licence]

    def check_lines(self, most: int) -> None:
        """Check the queries, and the first lines of functions and labels, as `read` does all."""
        read_queries(self._file("queries"))
        for name, model in (("codes", _CodeRow), ("labels", _LabelRow)):
            if name == "codes" or os.path.lexists(self._file(name)):
                deque(islice(read_lines(self._file(name), model), most), maxlen=0)

    @property
    def info(self) -> SourceInfo:
        """Origin and licence of the files."""
        location = self._folder.resolve().name
        return SourceInfo(
            name="jsonl", licence=self._licence, revision="unknown", location=location
        )

    def items(self, merged: Deduplicator) -> Iterator[Item]:
        """Yield the queries, the functions as they are read, and the labels."""
        queries, labels = read_queries(self._file("queries")), self._file("labels")
        rows = list(read_lines(labels, _LabelRow)) if os.path.lexists(labels) else []
        code_ids = dict.fromkeys((line.row.code for line in rows), "")
        yield from merged.queries(query for _, query in queries)
        yield from merged.codes(_read_functions(self._file("codes"), code_ids))
        query_ids = {identity: query.query_id for identity, query in queries if identity}
        yield from merged.labels(_labels(rows, query_ids, code_ids), (line.place for line in rows))

    def _file(self, name: str) -> Path:
        return file_named(self._folder, f"{name}.jsonl")


def _read_functions(file: Path, code_ids: dict[str, str]) -> Iterator[CorpusFunction]:
    """Yield the functions of a file; put those ids into ``code_ids`` that it has as keys."""
    place, seen = "", set[bytes]()
    for place, row in read_lines(file, _CodeRow):
        if is_blank(row.code):
            raise SourceError(f"{place}: the code is empty: write a function or delete the line")
        if row.id is not None:
            _refuse_taken(file, row.id, place, seen)
        function = parse_function(row.code, row.origin or Path(place).name, row.name)
        if row.id in code_ids:
            code_ids[row.id] = function.code.code_id
        yield function.with_fields(licence=row.licence, url=row.url, split=row.split)
    if not place:
        raise SourceError(f'{file} holds no functions: write lines such as {{"code": "def ..."}}')


def _refuse_taken(file: Path, identity: str, place: str, seen: set[bytes]) -> None:
    """Refuse an id that is given twice; of those seen, only marks are kept."""
    key = bytes.fromhex(mark(identity))
    if key in seen:
        places = (line.place for line in read_lines(file, _CodeRow) if line.row.id == identity)
        if (earlier := next(places)) != place:  # else two ids have one mark
            raise SourceError(taken(identity, place, earlier))
    seen.add(key)


def _labels(
    rows: Iterable[Line[_LabelRow]], query_ids: Mapping[str, str], code_ids: Mapping[str, str]
) -> Iterator[Label]:
    for place, row in rows:
        for kind, identity, known in (
            ("query", row.query, query_ids),
            ("code", row.code, code_ids),
        ):
            if not known.get(identity):
                raise SourceError(
                    f"{place}: no {kind} has the id {identity!r}: give it to a line of the {kind} "
                    "file as its id, or delete the label"
                )
        yield Label(
            query_id=QueryId(query_ids[row.query]),
            code_id=CodeId(code_ids[row.code]),
            origin=LABELS,
            relevance=row.relevance,
        )
