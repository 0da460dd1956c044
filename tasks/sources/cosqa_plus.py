"""The source of CoSQA+: its published queries, codes, and labels of their pairs.

Source: "CoSQA+" (arXiv 2406.11589), whose authors publish JSON arrays of items with ``query-idx``
and ``query``, with ``code-idx`` and ``code``, and with both indices and a ``label``: of the second
version, labelled by its agents, ``test_agent_{query,codebase,pairs}.json``; of the first, labelled
by Claude 3 Sonnet, ``query.json`` and ``gpt4o_augment_{codebase,query_code_pairs}.json``. The keys
are printed for the first version; the authors' scoring reads them from the second's.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel, Field

from infra.collected import Item
from infra.errors import SourceError
from infra.identity import CodeId
from infra.records import Label, Query, SourceInfo
from infra.text import NOT_BLANK
from tasks.corpus.functions import parse_function
from tasks.corpus.merging import Deduplicator
from tasks.inputs.lines import read_items
from tasks.inputs.text import inside, printable
from tasks.sources import FolderOptions, FolderSource, sources

LABELS = "published:cosqa-plus"

_FILES = ("*query.json", "*_codebase.json", "*_pairs.json")
_TAKEN = "the index {} is taken already: copy the file again"


class _Query(BaseModel):
    index: int = Field(alias="query-idx")
    text: str = Field(alias="query", pattern=r"\S")


class _Code(BaseModel):
    index: int = Field(alias="code-idx")
    text: str = Field(alias="code", pattern=NOT_BLANK)


class _Pair(BaseModel):
    query: int = Field(alias="query-idx")
    code: int = Field(alias="code-idx")
    label: int = Field(ge=0, le=1)


class CosqaPlusOptions(FolderOptions):
    """The options of source cosqa-plus."""

    path: Path = Field(description="a folder with the published files of one version of CoSQA+")


@sources.register("cosqa-plus")
class CosqaPlusSource(FolderSource[CosqaPlusOptions]):
    """CoSQA+'s published files."""

    version = "2"
    info = SourceInfo(
        name="cosqa-plus",
        licence="of each function's repository",
        revision="published files",
        location="https://github.com/DeepSoftwareAnalytics/CoSQA_Plus",
    )

    @classmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write a query, two functions and two labels as the second version has them."""
        query = {"query-idx": 0, "query": "python double a number"}
        codes = [{"code-idx": n, "code": f"def f(x):\n    return {n} * x\n"} for n in (1, 2)]
        pairs = [{**query, **code, "label": n} for n, code in enumerate(codes)]
        for name, items in {"query": [query], "codebase": codes, "pairs": pairs}.items():
            (folder / f"test_agent_{name}.json").write_text(json.dumps(items), encoding="utf-8")
        return {"path": folder}

    def inputs(self) -> list[Path]:
        """Return the files of queries, codes and pairs.

        Raises:
            SourceError: One is missing, or the folder has those of several versions.
        """
        found = [inside(self._folder, self._folder.glob(pattern)) for pattern in _FILES]
        for pattern, files in zip(_FILES, found, strict=True):
            if len(files) != 1:
                names = " and ".join(file.name for file in files) or f"no {pattern}"
                raise SourceError(
                    f"{printable(self._folder)} has {names}: put the files of one version there"
                )
        return [file for files in found for file in files]

    def items(self, merged: Deduplicator) -> Iterator[Item]:
        """Yield the queries, codes and labels."""
        queries, codes, pairs = self.inputs()
        asked: dict[int, Query] = {}
        for place, query in read_items(queries, _Query):
            if query.index in asked:
                raise SourceError(f"{place}: {_TAKEN.format(query.index)}")
            asked[query.index] = Query.of(query.text, Path(place).name)
            yield from merged.queries([asked[query.index]])
        known: dict[int, CodeId] = {}
        for place, code in read_items(codes, _Code):
            if code.index in known:
                raise SourceError(f"{place}: {_TAKEN.format(code.index)}")
            function = parse_function(code.text, Path(place).name)
            known[code.index] = function.code.code_id
            yield from merged.codes([function])
        labels = []
        for place, pair in read_items(pairs, _Pair):
            if pair.query not in asked or pair.code not in known:
                wrong = f"there is no query {pair.query} or no code {pair.code}"
                raise SourceError(f"{place}: {wrong}: take all files from one publication")
            ids = {"query_id": asked[pair.query].query_id, "code_id": known[pair.code]}
            labels.append(Label(**ids, origin=LABELS, relevance=pair.label))
        yield from merged.labels(labels)
