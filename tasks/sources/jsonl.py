"""Queries, functions and labels from a person's own files.

A folder with ``queries.jsonl`` (lines such as ``{"query": "...", "id": "q1"}``), ``codes.jsonl``
(``{"code": "def ...", "id": "c1", "name": "...", "origin": "..."}``) and, when people have judged
pairs, ``labels.jsonl`` (``{"query": "q1", "code": "c1", "relevance": 1}``). All but the query, the
code and the three parts of a label may be left out.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import Field

from infra.errors import SourceError
from infra.identity import digest
from infra.records import Code, Collected, Label, Query, SourceInfo
from infra.settings import SourceSettings
from tasks.corpus.merging import Merged
from tasks.corpus.parsed_code import parsed_code
from tasks.files.json_lines import Row, read_lines, read_queries, refuse_repeated
from tasks.files.text import folder_of, refuse, state_of
from tasks.sources import sources

LABELS = "people:jsonl"

_RULES = "1"  # to be raised when the same files are to give other records


class _CodeRow(Row):
    code: str = Field(min_length=1)
    id: str | None = Field(None, min_length=1)
    name: str = ""
    origin: str = ""


class _LabelRow(Row):
    query: str = Field(min_length=1)
    code: str = Field(min_length=1)
    relevance: float = Field(ge=0, allow_inf_nan=False)


@sources.register("jsonl")
class JsonLinesSource:
    """A folder of JSON Lines files.

    Args:
        settings: ``path`` is the folder.

    Raises:
        SettingsError: No path is given, or a setting that has no meaning here.
        SourceError: There is no such folder.
    """

    def __init__(self, settings: SourceSettings) -> None:
        refuse(settings, "distribution", "queries")
        self._name = settings.collection or settings.name
        self._folder = folder_of(settings, "queries.jsonl and codes.jsonl")

    def fingerprint(self) -> str:
        """Return a digest of the files' names, sizes and times."""
        labels = [self._labels] if self._labels.exists() else []
        return digest("jsonl", _RULES, self._name, state_of([self._queries, self._codes, *labels]))

    def read(self) -> dict[str, Collected]:
        """Return what the files hold.

        Raises:
            SourceError: A file is missing, or a line of it cannot be used.
        """
        queries, codes = read_queries(self._queries), _read_codes(self._codes)
        merged = Merged()
        merged.add_queries(query for _, query in queries)
        merged.add_codes(code for _, code in codes)
        if self._labels.exists():
            query_of = {given: query for given, query in queries if given is not None}
            code_of = {given: code for given, code in codes if given is not None}
            merged.add_labels(_read_labels(self._labels, query_of, code_of))
        collected = Collected(
            info=SourceInfo(
                name="jsonl", licence="unknown", revision="unknown", location=str(self._folder)
            ),
            queries=merged.queries,
            codes=merged.codes,
            labels=merged.labels,
            dropped=merged.dropped,
        )
        return {self._name: collected}

    @property
    def _queries(self) -> Path:
        return self._folder / "queries.jsonl"

    @property
    def _codes(self) -> Path:
        return self._folder / "codes.jsonl"

    @property
    def _labels(self) -> Path:
        return self._folder / "labels.jsonl"


def _read_codes(file: Path) -> list[tuple[str | None, Code]]:
    rows = list(read_lines(file, _CodeRow))
    if not rows:
        raise SourceError(f'{file} holds no functions: write lines such as {{"code": "def ..."}}')
    refuse_repeated((row.id, place) for place, row in rows)
    return [(row.id, _code(place, row)) for place, row in rows]


def _code(place: str, row: _CodeRow) -> Code:
    try:
        return parsed_code(row.code, row.origin or Path(place).name, row.name)
    except SyntaxError as error:
        line = f" (line {error.lineno} of the function)" if error.lineno else ""
        raise SourceError(
            f"{place}: the code does not parse: {error.msg}{line}: mend it or delete the line"
        ) from None


def _read_labels(
    file: Path, query_of: Mapping[str, Query], code_of: Mapping[str, Code]
) -> Iterator[Label]:
    for place, row in read_lines(file, _LabelRow):
        for kind, given, known in (("query", row.query, query_of), ("code", row.code, code_of)):
            if given not in known:
                raise SourceError(
                    f"{place}: no {kind} has the id {given!r}: give it to a line of the {kind} "
                    "file as its id, or delete the label"
                )
        yield Label(
            query_id=query_of[row.query].query_id,
            code_id=code_of[row.code].code_id,
            origin=LABELS,
            relevance=row.relevance,
        )
