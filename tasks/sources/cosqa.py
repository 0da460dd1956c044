"""CoSQA: web queries with the functions that people judged to answer them.

Source: Huang et al., "CoSQA: 20,000+ Web Queries for Code Search and Question Answering" (ACL
2021). Its published files, in one folder: ``code_idx_map.txt`` with all functions of the code base,
``cosqa-retrieval-*.json`` with queries and the one function that is relevant to each, and
``cosqa-*.json`` with pairs that people labelled 0 or 1.

Functions that Python 3 does not parse stay: they are part of the published code base, and a method
that leaves them out would be scored on an easier one.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from infra.errors import SourceError
from infra.identity import digest
from infra.records import Code, Collected, Label, Query, SourceInfo
from infra.settings import SourceSettings
from tasks.corpus.merging import Merged
from tasks.corpus.parsed_code import parsed_code
from tasks.files.json_lines import checked, refuse_half_characters
from tasks.files.text import folder_of, read_text, refuse, state_of
from tasks.sources import sources

_RULES = "1"  # to be raised when the same files are to give other records
_FILES = "code_idx_map.txt, cosqa-retrieval-*.json and cosqa-*.json"
_INFO = SourceInfo(
    name="cosqa",
    licence="C-UDA (Computational Use of Data Agreement)",
    revision="published ACL 2021 files",
    location="https://github.com/Jun-jie-Huang/CoCLR",
)

_INDICES = TypeAdapter(dict[str, int], config=ConfigDict(strict=True))

RETRIEVAL_LABELS = "people:cosqa-retrieval"
PAIR_LABELS = "people:cosqa-pairs"


class _Row(BaseModel):
    """What is read of a row; ``retrieval_idx`` stands in the files of retrieval alone."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    idx: str
    doc: str = Field(min_length=1, pattern=r"\S")
    code: str = Field(min_length=1, pattern=r"\S")
    label: int = Field(ge=0, le=1)
    retrieval_idx: int | None = None


@sources.register("cosqa")
class CosqaSource:
    """CoSQA's published files.

    Args:
        settings: ``path`` is their folder.

    Raises:
        SettingsError: A setting is missing, or is given that has no meaning here.
        SourceError: There is no such folder.
    """

    def __init__(self, settings: SourceSettings) -> None:
        refuse(settings, "distribution", "queries")
        self._name = settings.collection or settings.name
        self._folder = folder_of(settings, _FILES)

    def fingerprint(self) -> str:
        """Return a digest of the files' names, sizes and times."""
        files = [self._base, *self._retrieval_files, *self._pair_files]
        return digest("cosqa", _RULES, self._name, state_of(files))

    def read(self) -> dict[str, Collected]:
        """Return the retrieval queries over the whole code base, and the labelled pairs.

        Raises:
            SourceError: A file is missing, truncated or not as it was published.
        """
        if not self._retrieval_files:
            raise SourceError(
                f"{self._folder} has no cosqa-retrieval-*.json: copy {_FILES} into one folder"
            )
        collections = {self._name: self._retrieval()}
        if self._pair_files:
            collections[f"{self._name}-pairs"] = self._pairs()
        return collections

    @property
    def _base(self) -> Path:
        return self._folder / "code_idx_map.txt"

    @property
    def _retrieval_files(self) -> list[Path]:
        return sorted(self._folder.glob("cosqa-retrieval-*.json"))

    @property
    def _pair_files(self) -> list[Path]:
        return sorted(set(self._folder.glob("cosqa-*.json")) - set(self._retrieval_files))

    def _retrieval(self) -> Collected:
        indices = _indices(self._base)
        rows = [row for file in self._retrieval_files for row in _rows(file)]
        for place, row in rows:
            _check_index(place, row, indices)
        codes = ((text, f"{self._base.name}:{index}") for text, index in indices.items())
        return _collected(rows, codes, RETRIEVAL_LABELS)

    def _pairs(self) -> Collected:
        rows = [row for file in self._pair_files for row in _rows(file)]
        return _collected(rows, ((row.code, row.idx) for _, row in rows), PAIR_LABELS)


_Placed = tuple[str, _Row]


def _collected(rows: list[_Placed], texts: Iterable[tuple[str, str]], origin: str) -> Collected:
    codes: dict[str, Code] = {}
    queries: dict[str, Query] = {}
    for text, place in texts:
        codes.setdefault(text, _code(text, place))
    for _, row in rows:
        queries.setdefault(row.doc, Query.of(row.doc, row.idx))
    merged = Merged()
    merged.add_codes(codes.values())
    merged.add_queries(queries.values())
    merged.add_labels(
        Label(
            query_id=queries[row.doc].query_id,
            code_id=codes[row.code].code_id,
            origin=origin,
            relevance=float(row.label),
        )
        for _, row in rows
    )
    return Collected(
        info=_INFO,
        queries=merged.queries,
        codes=merged.codes,
        labels=merged.labels,
        dropped=merged.dropped,
    )


def _code(text: str, origin: str) -> Code:
    try:
        return parsed_code(text, origin)
    except SyntaxError:
        return Code.of(text, origin=origin)


def _check_index(place: str, row: _Row, indices: dict[str, int]) -> None:
    if row.code not in indices:
        raise SourceError(
            f"{place}: its code is not in code_idx_map.txt: take both files from one publication"
        )
    if row.retrieval_idx not in (None, indices[row.code]):
        raise SourceError(
            f"{place}: retrieval_idx is {row.retrieval_idx}, but code_idx_map.txt has its code at "
            f"{indices[row.code]}: take both files from one publication"
        )


def _rows(file: Path) -> list[_Placed]:
    content = _json(file)
    if not isinstance(content, list):
        raise SourceError(f"{file} is no list of rows: copy the published file again")
    places = [f"{file}: row {number}" for number in range(1, len(content) + 1)]
    return [(place, checked(place, row, _Row)) for place, row in zip(places, content, strict=True)]


def _indices(file: Path) -> dict[str, int]:
    content = _json(file)
    refuse_half_characters(str(file), content)
    try:
        return _INDICES.validate_python(content)
    except ValidationError:
        raise SourceError(
            f"{file} is no map of functions' texts to numbers: copy the published file again"
        ) from None


def _json(file: Path) -> object:
    try:
        return json.loads(read_text(file))
    except json.JSONDecodeError as error:
        raise SourceError(
            f"{file}:{error.lineno}: column {error.colno}: {error.msg}: the file is truncated or "
            "was changed, copy the published one again"
        ) from None
