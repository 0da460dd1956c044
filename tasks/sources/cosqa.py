"""The source of CoSQA: web queries, functions, and labels by annotators.

Source: Huang et al., "CoSQA: 20,000+ Web Queries for Code Search and Question Answering" (ACL
2021). Its published files, in one folder: ``code_idx_map.txt`` with all functions of the code base,
``cosqa-retrieval-*.json`` with queries and the one function that is relevant to each, and
``cosqa-*.json`` with pairs that annotators labelled 0 or 1.

Functions that Python 3 does not parse stay unless ``filters`` drop them: they are part of the
published code base, and a method that leaves them out would be scored on an easier one.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from infra.collected import Content, Item
from infra.errors import SourceError
from infra.records import Label, Query, SourceInfo
from infra.text import NOT_BLANK
from tasks.corpus.functions import parse_function
from tasks.corpus.merging import REPEATED_QUERY, Deduplicator
from tasks.filters import CorpusFunction
from tasks.inputs.lines import Line, decode_json, read_items
from tasks.inputs.text import inside, printable, read_text
from tasks.sources import FolderOptions, FolderSource, sources

_FILES = "code_idx_map.txt, cosqa-retrieval-*.json and cosqa-*.json"

_SPLIT = re.compile(r"-(train|dev|test)\b")
_INDICES = TypeAdapter(dict[str, int], config=ConfigDict(strict=True))

RETRIEVAL_LABELS = "people:cosqa-retrieval"
PAIR_LABELS = "people:cosqa-pairs"


class _Row(BaseModel):
    """The columns of a row that are read; only retrieval files have ``retrieval_idx``."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    idx: str
    doc: str = Field(min_length=1, pattern=r"\S")
    code: str = Field(min_length=1, pattern=NOT_BLANK)
    label: int = Field(ge=0, le=1)
    retrieval_idx: int | None = None


class CosqaOptions(FolderOptions):
    """The options of source cosqa."""

    path: Path = Field(description=f"a folder with {_FILES}")
    queries: Literal["retrieval", "all"] = Field(
        "retrieval",
        description="retrieval takes the queries of cosqa-retrieval-*.json over the code base; all "
        "those of the rows of cosqa-all.json, in their order, with the rows' code and labels.",
    )


@sources.register("cosqa")
class CosqaSource(FolderSource[CosqaOptions]):
    """CoSQA's published files."""

    version = "4"
    info = SourceInfo(
        name="cosqa",
        licence="C-UDA",
        revision="published ACL 2021 files",
        location="https://github.com/Jun-jie-Huang/CoCLR",
    )

    def __init__(self, collection: str, options: CosqaOptions) -> None:
        super().__init__(collection, options)
        self._of_all = options.queries == "all"
        self._all, self._base = self._folder / "cosqa-all.json", self._folder / "code_idx_map.txt"

    @classmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write a code base of two functions with a query and a pair."""
        codes = ["def double(x):\n    return x + x\n", "def halve(x):\n    return x / 2\n"]
        row = {"idx": "dev-0", "doc": "python double a number", "code": codes[0], "label": 1}
        files: dict[str, object] = {
            "code_idx_map.txt": {code: index for index, code in enumerate(codes)},
            "cosqa-retrieval-dev-500.json": [{**row, "retrieval_idx": 0}],
            "cosqa-dev.json": [row, {**row, "idx": "dev-1", "code": codes[1], "label": 0}],
        }
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content), encoding="utf-8")
        return {"path": folder}

    def inputs(self) -> list[Path]:
        """Return the published files that are there, and the code base where it is read."""
        base = [] if self._of_all else [self._base]
        return [*base, *self._retrieval_files, *self._pair_files]

    def read(self) -> Mapping[str, Content]:
        """Return the retrieval queries over the whole code base, and the labelled pairs.

        Raises:
            SourceError: A file is missing, truncated or not as it was published.
        """
        collections = {**super().read()}
        if self._pair_files and not self._of_all:
            collections[f"{self._name}-pairs"] = self.content(
                lambda merged: self._pairs(merged, self._pair_files)
            )
        return collections

    def items(self, merged: Deduplicator) -> Iterator[Item]:
        """Return the retrieval queries over the whole code base, or all rows."""
        if self._of_all:
            if not self._all.is_file():
                raise SourceError(f"{self._folder} has no {self._all.name}: copy it there")
            return self._pairs(merged, inside(self._folder, [self._all]))
        if not self._retrieval_files:
            raise SourceError(
                f"{self._folder} has no cosqa-retrieval-*.json: copy {_FILES} into one folder"
            )
        (base,) = inside(self._folder, [self._base])
        try:
            indices = _INDICES.validate_python(decode_json(read_text(base), str(base)))
        except ValidationError:
            raise SourceError(
                f"{base} is no map of functions' texts to numbers: copy the published file again"
            ) from None
        rows = [row for file in self._retrieval_files for row in _rows(file)]
        for place, row in rows:
            if row.code not in indices:
                problem = "its code is not in code_idx_map.txt"
            elif row.retrieval_idx not in (None, indices[row.code]):
                problem = (
                    f"retrieval_idx is {row.retrieval_idx}, but code_idx_map.txt has its code at "
                    f"{indices[row.code]}"
                )
            else:
                continue
            raise SourceError(f"{place}: {problem}: take both files from one publication")
        codes = ((text, f"{self._base.name}:{index}") for text, index in indices.items())
        return self._merged(merged, rows, codes, RETRIEVAL_LABELS)

    @property
    def _retrieval_files(self) -> list[Path]:
        return inside(self._folder, self._folder.glob("cosqa-retrieval-*.json"))

    @property
    def _pair_files(self) -> list[Path]:
        files = set(self._folder.glob("cosqa-*.json")) - set(self._retrieval_files)
        return inside(self._folder, files)

    def _pairs(self, merged: Deduplicator, files: Sequence[Path]) -> Iterator[Item]:
        rows = [row for file in files for row in _rows(file)]
        codes = ((row.code, row.idx) for _, row in rows)
        return self._merged(merged, rows, codes, PAIR_LABELS)

    def _merged(
        self,
        merged: Deduplicator,
        rows: list[Line[_Row]],
        codes: Iterable[tuple[str, str]],
        label_origin: str,
    ) -> Iterator[Item]:
        """Yield the items of rows, over functions that are given as text and origin."""
        functions: dict[str, CorpusFunction] = {}
        queries: dict[str, Query] = {}
        for text, origin in codes:
            if text not in functions:
                functions[text] = parse_function(text, origin)
        # A split is told by the name of a file, of all files where need be.
        splits = {row.doc: split for place, row in reversed(rows) if (split := _split_of(place))}
        files = [*self._retrieval_files, *self._pair_files] if self._of_all else []
        for file in filter(_split_of, files):
            for _, row in _rows(file):
                splits.setdefault(row.doc, _split_of(file))
        for _, row in rows:
            query = Query.of(row.doc, row.idx, splits.get(row.doc, ""))
            if queries.setdefault(row.doc, query) is not query and self._of_all:
                merged.dropped[REPEATED_QUERY] += 1
        yield from merged.codes(functions.values())
        yield from merged.queries(queries.values())
        labels = (
            Label(
                query_id=queries[row.doc].query_id,
                code_id=functions[row.code].code.code_id,
                origin=label_origin,
                relevance=float(row.label),
            )
            for _, row in rows
        )
        yield from merged.labels(labels, (place for place, _ in rows))


def _split_of(file: Path | str) -> str:
    """Return train, dev or test by a file's name, "" where it tells none; rows tell wrong ones."""
    found = _SPLIT.search(Path(file).name)
    return found[1] if found else ""


def _rows(file: Path) -> list[Line[_Row]]:
    rows = list(read_items(file, _Row))
    if not rows:
        raise SourceError(f"{printable(file)} holds no rows: copy the published file again")
    return rows
