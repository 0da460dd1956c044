"""Folders of a corpus, queries and grades by split: what BEIR's and the hub's have in common."""

import logging
from abc import abstractmethod
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Literal

import pyarrow as pa
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from infra.errors import SourceError
from infra.records import Code, Label, Query, SourceInfo
from tasks.benchmarks.benchmark import Benchmark, fit_name
from tasks.benchmarks.licences import licence_of_dataset
from tasks.benchmarks.runs import ID, QrelsTable
from tasks.inputs.formats import BenchmarkFormat
from tasks.inputs.lines import Line, taken
from tasks.inputs.text import printable
from tasks.inputs.trec import NAME, NUMBER, qrels_table

DocumentsOf = Literal["corpus", "queries"]
QRELS_TYPES = {"query": NAME, "code": NAME, "relevance": NUMBER}
_MISSING = "judged code that is not in the corpus, and counts as never found"

_logger = logging.getLogger(__name__)


class Document(BaseModel):
    """A line of a corpus or of queries; keys of other tools are passed over."""

    model_config = ConfigDict(frozen=True)

    identity: str = Field(pattern=ID, validation_alias=AliasChoices("_id", "id"))
    title: str | None = ""
    text: str


class Judgement(BaseModel):
    """A line of grades by name; ``identity`` is a field of runs and qrels."""

    model_config = ConfigDict(frozen=True, strict=True)

    query: str = Field(alias="query-id", pattern=ID)
    code: str = Field(alias="corpus-id", pattern=ID)
    relevance: float = Field(alias="score", allow_inf_nan=False)


class GradedFolder(BenchmarkFormat):
    """A folder of a corpus, queries, and grades of each split, of which one is read.

    Attributes:
        kind: The format, which the origin of labels begins with.
    """

    kind: ClassVar[str]

    def __init__(self, path: Path, split: str = "test") -> None:
        super().__init__(path)
        self.split = split

    @abstractmethod
    def documents(self, name: DocumentsOf) -> Iterator[Line[Document]]:
        """Yield the lines of the corpus or of the queries."""

    @abstractmethod
    def qrels(self, known: Container[str] = ()) -> QrelsTable:
        """Return the split's grades; with ids of the folder no line of names begins."""

    @property
    @abstractmethod
    def grades_file(self) -> Path:
        """The file of the split's grades, the first of several."""

    @property
    def name(self) -> str:
        """The folder's name."""
        return fit_name(self.path.resolve().name, self.kind)

    def codes(self) -> Iterator[Code]:
        """Yield the corpus; BEIR's own tools put a title before the text."""
        for place, document in _distinct(self.documents("corpus")):
            text = f"{document.title} {document.text}".strip() if document.title else document.text
            yield Code(code_id=document.identity, text=text or " ", origin=_file_of(place))

    def queries(self) -> Iterator[Query]:
        """Yield all queries, those that another split judges too."""
        for place, document in _distinct(self.documents("queries")):
            origin = _file_of(place)
            yield Query(query_id=document.identity, text=document.text or " ", origin=origin)

    def benchmark(self, *, needs_labels: bool = True) -> Benchmark:
        """Return the split as a benchmark, with the queries that it judges.

        A judged code that is not in the corpus counts as one that no ranking finds, as it does for
        trec_eval, and is told by a warning.

        Where no labels are needed, a folder without qrels has all its queries.

        Raises:
            SourceError: A file is missing or a line malformed, an id is repeated, or a judged query
                is not in the folder, or no code that is there is relevant.
        """
        codes: dict[str, Code] = {code.code_id: code for code in self.codes()}
        queries: dict[str, Query] = {query.query_id: query for query in self.queries()}
        licence = licence_of_dataset(self.path)
        source = SourceInfo(
            name=self.kind, licence=licence, revision=self.split, location=self.path.name
        )
        benchmark = Benchmark(
            name=self.name,
            label_origin=f"{self.kind}:{self.split}",
            queries=tuple(queries.values()),
            codes=tuple(codes.values()),
            labels=(),
            sources=(source,),
        )
        file = self.grades_file
        if not needs_labels and not file.parent.exists():
            return benchmark
        qrels = self.qrels(queries.keys() | codes.keys())
        if not (qrels.relevance > 0).any():
            raise SourceError(
                f"{file} judges no code as relevant, so nothing can be scored: take another split, "
                "or put the judgements there, lines such as q1<tab>c1<tab>1"
            )
        if not queries:
            raise self._empty("queries")
        _refuse_unknown(file, "queries", set(qrels.query_ids) - queries.keys())
        labels = tuple(_labels(qrels, benchmark.label_origin))
        missing = sorted(set(qrels.code_ids) - codes.keys())
        if not any(label.relevance > 0 and label.code_id in codes for label in labels):
            if not codes:
                raise self._empty("corpus")
            _refuse_unknown(file, "codes", set(missing))
        number = sum(label.code_id not in codes for label in labels)
        if missing:
            _logger.warning(
                "%s: judged codes that are not in the corpus count as never found (%s judgements, "
                "of %s …)", printable(file), f"{number:,}", ", ".join(missing[:5]),
            )  # fmt: skip
        return benchmark.model_copy(
            update={
                "queries": tuple(queries[query] for query in sorted(qrels.query_ids)),
                "labels": labels,
                "dropped": {_MISSING: number} if missing else {},
            }
        )

    def _empty(self, name: DocumentsOf) -> SourceError:
        """Return the error of a corpus, or of queries, without a line."""
        place = next(iter(sorted(self.path.glob(f"{name}*"))), self.path / name)
        return SourceError(f"{printable(place)} is empty: put the folder's {name} there")


def choose_split(folder: Path, files: Mapping[str, Path], usual: str) -> str:
    """Return the split of a folder to read: the usual one, or its only one.

    Raises:
        SourceError: There are several, and none of them is the usual one.
    """
    splits = set(files) or {"test"}
    if len(splits) > 1 and usual not in splits:
        raise SourceError(
            f"{printable(folder)} has {len(splits)} splits: name one of "
            f"{', '.join(map(printable, files.values()))}"
        )
    return usual if usual in splits else splits.pop()


def judgements_table(file: Path, lines: Iterable[Line[Judgement]]) -> QrelsTable:
    """Return lines of grades as qrels; errors name the file."""
    rows = [line.row.model_dump() for line in lines]
    return qrels_table(file, pa.Table.from_pylist(rows, schema=pa.schema(QRELS_TYPES)))


def _distinct(lines: Iterable[Line[Document]]) -> Iterator[Line[Document]]:
    """Yield the lines, of which no two may have one id."""
    places: dict[str, str] = {}
    for line in lines:
        if (earlier := places.setdefault(line.row.identity, line.place)) != line.place:
            raise SourceError(taken(line.row.identity, line.place, earlier))
        yield line


def _file_of(place: str) -> str:
    return Path(place.rpartition(":")[0]).name


def _labels(qrels: QrelsTable, origin: str) -> Iterable[Label]:
    pairs = zip(qrels.rows.tolist(), qrels.columns.tolist(), strict=True)
    for (row, column), relevance in zip(pairs, qrels.relevance.tolist(), strict=True):
        query, code = qrels.query_ids[row], qrels.code_ids[column]
        yield Label(query_id=query, code_id=code, origin=origin, relevance=relevance)


def _refuse_unknown(file: Path, kind: str, unknown: set[str]) -> None:
    if unknown:
        raise SourceError(
            f"{file}: ids of judged {kind} that are not in the folder: {len(unknown):,}, "
            f"{min(unknown)!r} among them: take the qrels that belong to it"
        )
