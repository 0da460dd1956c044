"""The source of CoSQA+: its published queries, codes, and labels of their pairs.

Source: "CoSQA+" (arXiv 2406.11589) and its authors' repository. The files of one version in one
folder, each a JSON array: ``test_agent_query.json`` (items with ``query-idx`` and ``query``),
``test_agent_codebase.json`` (``code-idx``, ``code``) and ``test_agent_pairs.json`` (``query-idx``,
``code-idx``, ``label``) of the second version, whose labels are by its agents; ``query.json``,
``gpt4o_augment_codebase.json`` or ``final_augment_codebase.json`` and
``*_augment_query_code_pairs.json`` of the first, whose labels are by Claude 3 Sonnet. In place of
all pairs the file of those labelled 1 will do (``*_pairs_true.json``, ``*_for_search.json``).

The authors print the keys for the first version; of the second their scoring script reads the same
ones. Neither the licence nor the origin of a code is told: it is exported with include_unlicensed.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from infra.collected import Item, Streamed
from infra.errors import SourceError
from infra.identity import mark
from infra.ids import CodeId, QueryId
from infra.records import Label, Query, SourceInfo
from tasks.corpus.merging import Merged
from tasks.corpus.parsed_code import parse_function
from tasks.files.json_lines import read_items
from tasks.files.text import packed_or_not, printable, require_folder, state_of
from tasks.filters import CorpusFunction, FilterChain
from tasks.sources import SourceOptions, sources

LABELS = "published:cosqa-plus"

_VERSION = "1"  # to be raised when the same files are to give other records
_CODES = "_codebase.json"
_QUERIES = ("{}_query.json", "query.json")
_PAIRS = (
    "{}_pairs.json", "{}_query_code_pairs.json", "{}_pairs_true.json",
    "{}_query_code_pairs_for_search.json",
)  # fmt: skip
_INFO = SourceInfo(
    name="cosqa-plus",
    licence="of each function's repository",
    revision="published files",
    location="https://github.com/DeepSoftwareAnalytics/CoSQA_Plus",
)


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Query(_Row):
    index: int = Field(alias="query-idx")
    query: str = Field(pattern=r"\S")


class _Code(_Row):
    index: int = Field(alias="code-idx")
    code: str = Field(pattern=r"\S")


class _Pair(_Row):
    query: int = Field(alias="query-idx")
    code: int = Field(alias="code-idx")
    label: int = Field(ge=0, le=1)


class CosqaPlusOptions(SourceOptions):
    """The options of source cosqa-plus."""

    path: Path = Field(description="a folder with the published files of one version of CoSQA+")


@sources.register("cosqa-plus")
class CosqaPlusSource:
    """CoSQA+'s published files.

    Args:
        collection: Name of the collection.
        options: The folder and the filters.

    Raises:
        SourceError: There is no such folder.
    """

    Options: ClassVar[type[SourceOptions]] = CosqaPlusOptions

    def __init__(self, collection: str, options: CosqaPlusOptions) -> None:
        self._name = collection
        self._options = options
        self._folder = require_folder(options.path)

    @classmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write a query, two functions and two labels as the second version has them."""
        codes = ["def double(x):\n    return x + x\n", "def halve(x):\n    return x / 2\n"]
        query = {"query-idx": 0, "query": "python double a number"}
        rows = [{"code-idx": index, "code": code} for index, code in enumerate(codes)]
        files: dict[str, list[dict[str, object]]] = {
            "query": [query],
            "codebase": rows,
            "pairs": [
                {"pair-idx": index, **query, **row, "label": 1 - index}
                for index, row in enumerate(rows)
            ],
        }
        for name, items in files.items():
            (folder / f"test_agent_{name}.json").write_text(json.dumps(items), encoding="utf-8")
        return {"path": folder}

    def inputs(self) -> list[Path]:
        """Return the files of queries, codes and pairs.

        Raises:
            SourceError: One is missing, or the folder has those of several versions.
        """
        found = packed_or_not(self._folder, f"*{_CODES}")
        if len(found) != 1:
            what = " and ".join(file.name for file in found) or f"no *{_CODES}"
            raise SourceError(
                f"{printable(self._folder)} has {what}: put the files of one version there"
            )
        version = found[0].name.partition(_CODES)[0]
        return [self._first(_QUERIES, version), found[0], self._first(_PAIRS, version)]

    def fingerprint(self) -> str:
        """Return a digest of the files' names, sizes and times, and of filters that are set."""
        state = state_of(self.inputs())
        return mark("cosqa-plus", _VERSION, self._name, state, *self._options.filters)

    def read(self) -> dict[str, Streamed]:
        """Return the queries, codes and labels, which are read as they are asked for.

        Raises:
            SourceError: A file is missing, truncated or not as it was published.
        """
        merged = Merged(FilterChain(self._options.filters))
        return {self._name: merged.streamed(_INFO, self._items(merged, *self.inputs()))}

    def _items(self, merged: Merged, queries: Path, codes: Path, pairs: Path) -> Iterator[Item]:
        query_ids: dict[int, QueryId] = {}
        code_ids: dict[int, CodeId] = {}
        yield from merged.queries(_read_queries(queries, query_ids))
        yield from merged.codes(_read_codes(codes, code_ids))
        yield from merged.labels(_read_labels(pairs, query_ids, code_ids))

    def _first(self, patterns: tuple[str, ...], version: str) -> Path:
        names = [pattern.format(version) for pattern in patterns]
        for name in names:
            if found := packed_or_not(self._folder, name):
                return found[0]
        raise SourceError(
            f"{printable(self._folder)} has none of {', '.join(names)}: copy it from the "
            "publication that the codes are of"
        )


def _read_queries(file: Path, ids: dict[int, QueryId]) -> Iterator[Query]:
    """Yield the queries of a file; put the id of each under its index."""
    for place, row in read_items(file, _Query):
        query = Query.of(row.query, Path(place).name)
        _refuse_repeated(place, row.index, ids)
        ids[row.index] = query.query_id
        yield query


def _read_codes(file: Path, ids: dict[int, CodeId]) -> Iterator[CorpusFunction]:
    """Yield the codes of a file; put the id of each under its index."""
    for place, row in read_items(file, _Code):
        function = parse_function(row.code, Path(place).name)
        _refuse_repeated(place, row.index, ids)
        ids[row.index] = function.code.code_id
        yield function


def _read_labels(
    file: Path, query_ids: Mapping[int, QueryId], code_ids: Mapping[int, CodeId]
) -> Iterator[Label]:
    for place, row in read_items(file, _Pair):
        if row.query not in query_ids or row.code not in code_ids:
            raise SourceError(
                f"{place}: there is no query {row.query} or no code {row.code}: take all files "
                "from one publication"
            )
        pair = {"query_id": query_ids[row.query], "code_id": code_ids[row.code]}
        yield Label(**pair, origin=LABELS, relevance=row.label)


def _refuse_repeated(place: str, index: int, ids: Mapping[int, str]) -> None:
    if index in ids:
        raise SourceError(f"{place}: the index {index} is taken already: copy the file again")
