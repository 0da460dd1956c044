"""BEIR's folders (Thakur et al. 2021, arXiv 2104.08663).

``corpus.jsonl`` and ``queries.jsonl`` have an ``_id`` and a ``text`` on each line, the corpus maybe
a ``title``, which BEIR's own tools put before the text; ``qrels/<split>.tsv`` has query, code and
score, mostly below a header; ``qrels/<split>.jsonl``, as mteb's copies have it, has the same by
name. The ids stay as the folder gives them. Each file may be compressed by gzip.
"""

import logging
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from infra.errors import SourceError
from infra.records import Code, Label, Query, SourceInfo
from tasks.benchmarks.benchmark import Benchmark, fit_name
from tasks.benchmarks.qrels import QrelsTable
from tasks.benchmarks.runs import ID
from tasks.inputs.columns import NAME, NUMBER, is_number, read_columns
from tasks.inputs.formats import BenchmarkFormat, PairSplit, formats
from tasks.inputs.lines import read_lines, taken
from tasks.inputs.text import packed_or_not, printable, read_text_lines
from tasks.inputs.trec import qrels_table

_TYPES = {"query": NAME, "code": NAME, "relevance": NUMBER}
_QRELS = tuple(_TYPES)
_HEADER = {"query-id": "query", "corpus-id": "code", "score": "relevance"}
_SPLIT = re.compile(r"(.+)\.(?:tsv|jsonl)(?:\.gz)?")
_QRELS_ENDINGS = (".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz")
_MISSING = "judged code that is not in the corpus, and counts as never found"

_logger = logging.getLogger(__name__)


class _Document(BaseModel):
    """A line of a corpus or of queries; keys of other tools are passed over."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    identity: str = Field(alias="_id", pattern=ID)  # is a field of runs and qrels
    title: str = ""
    text: str


class _Judgement(BaseModel):
    """A line of qrels in JSON Lines."""

    model_config = ConfigDict(frozen=True, strict=True)

    query: str = Field(alias="query-id", pattern=ID)
    code: str = Field(alias="corpus-id", pattern=ID)
    relevance: float = Field(alias="score", allow_inf_nan=False)


@formats.register("beir")
class Beir(BenchmarkFormat):
    """A BEIR folder, or one of its splits by its file (qrels/SPLIT.tsv).

    Args:
        path: The folder, with ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/``.
        split: Name of the qrels file to read.
    """

    sign = "BEIR's corpus.jsonl"

    def __init__(self, path: Path, split: str = "test") -> None:
        super().__init__(path)
        self.split = split

    @classmethod
    def at(cls, path: Path, usual: str) -> Self | None:
        """Return a folder's only or usual split, or the one that a file in its ``qrels`` names."""
        if path.parent.name == "qrels" and path.is_file() and _is_beir(path.parent.parent):
            split = _SPLIT.fullmatch(path.name)
            return cls(path.parent.parent, split[1]) if split else None
        if not _is_beir(path):
            return None
        files = _qrels_files(path)
        splits = set(files) or {"test"}
        if len(splits) > 1 and usual not in splits:
            raise SourceError(
                f"{printable(path)} has {len(splits)} splits: name one of "
                f"{', '.join(map(printable, files.values()))}"
            )
        return cls(path, usual if usual in splits else splits.pop())

    @classmethod
    def places(cls, folder: Path, split: PairSplit) -> Iterable[Path]:
        """Return the qrels of a split."""
        return [folder / "qrels" / f"{split}{ending}" for ending in _QRELS_ENDINGS]

    @property
    def name(self) -> str:
        """The folder's name."""
        return fit_name(self.path.resolve().name, "beir")

    def codes(self) -> Iterator[Code]:
        """Yield the corpus; BEIR's own tools put a title before the text."""
        file = self._file("corpus")
        for document in _documents(file):
            text = f"{document.title} {document.text}".strip() if document.title else document.text
            yield Code(code_id=document.identity, text=text or " ", origin=file.name)

    def queries(self) -> Iterator[Query]:
        """Yield all queries, those that another split judges too."""
        file = self._file("queries")
        for document in _documents(file):
            yield Query(query_id=document.identity, text=document.text or " ", origin=file.name)

    def qrels(self, known: Container[str] = ()) -> QrelsTable:
        """Return the split's grades; with ids of the folder no line of names begins."""
        return read_beir_qrels(self._qrels, known)

    def benchmark(self, *, needs_labels: bool = True) -> Benchmark:
        """Return the split as a benchmark, with the queries that it judges.

        A judged code that is not in the corpus counts as one that no ranking finds, as it does for
        trec_eval, and is told by a warning.

        Args:
            needs_labels: Refuse a folder without qrels; else it has all its queries.

        Raises:
            SourceError: A file is missing or a line malformed, an id is repeated, or a judged query
                is not in the folder, or no code that is there is relevant.
        """
        codes: dict[str, Code] = {code.code_id: code for code in self.codes()}
        queries: dict[str, Query] = {query.query_id: query for query in self.queries()}
        source = SourceInfo(
            name="beir", licence="unknown", revision=self.split, location=self.path.name
        )
        benchmark = Benchmark(
            name=self.name,
            label_origin=f"beir:{self.split}",
            queries=tuple(queries.values()),
            codes=tuple(codes.values()),
            labels=(),
            sources=(source,),
        )
        file = self._qrels
        if not needs_labels and not file.parent.exists():
            return benchmark
        qrels = self.qrels(queries.keys() | codes.keys())
        if not (qrels.relevance > 0).any():
            raise SourceError(
                f"{file} judges no code as relevant, so nothing can be scored: take another split, "
                "or put the judgements there, lines such as q1<tab>c1<tab>1"
            )
        _refuse_unknown(file, "query", set(qrels.query_ids) - queries.keys())
        labels = tuple(_labels(qrels, benchmark.label_origin))
        missing = sorted(set(qrels.code_ids) - codes.keys())
        if not any(label.relevance > 0 and label.code_id in codes for label in labels):
            _refuse_unknown(file, "code", set(missing))
        number = sum(label.code_id not in codes for label in labels)
        if missing:
            _logger.warning(
                "%s: judged codes that are not in %s count as never found (%s judgements, of %s …)",
                printable(file), self._file("corpus").name, f"{number:,}", ", ".join(missing[:5]),
            )  # fmt: skip
        return benchmark.model_copy(
            update={
                "queries": tuple(queries[query] for query in sorted(qrels.query_ids)),
                "labels": labels,
                "dropped": {_MISSING: number} if missing else {},
            }
        )

    def _file(self, name: str) -> Path:
        return [*packed_or_not(self.path, f"{name}.jsonl"), self.path / f"{name}.jsonl"][0]

    @property
    def _qrels(self) -> Path:
        usual = self.path / "qrels" / f"{self.split}.tsv"
        return _qrels_files(self.path).get(self.split, usual)


def read_beir(folder: Path, split: str = "test") -> Benchmark:
    """Return a split of a folder as a benchmark; errors as of `Beir.benchmark`."""
    return Beir(folder, split).benchmark()


def _is_beir(folder: Path) -> bool:
    return any((folder / f"corpus.jsonl{ending}").is_file() for ending in ("", ".gz"))


def read_beir_qrels(file: Path, known: Container[str] = ()) -> QrelsTable:
    """Return the qrels of a ``qrels/<split>.tsv`` or ``qrels/<split>.jsonl``.

    Args:
        file: The file.
        known: Ids of the folder, with which no line of names begins.

    Raises:
        SourceError: The file is missing, a line is malformed, or a pair is judged twice.
    """
    if file.name.removesuffix(".gz").endswith(".jsonl"):
        rows = [line.row.model_dump() for line in read_lines(file, _Judgement)]
        return qrels_table(file, pa.Table.from_pylist(rows, schema=pa.schema(_TYPES)))
    names, skip = _header(file, known)
    return qrels_table(file, read_columns(file, names, _TYPES, skip=skip))


def _header(file: Path, known: Container[str]) -> tuple[Sequence[str], int]:
    """Return the columns, in their order, and the number of lines up to the header."""
    for number, line in read_text_lines(file):
        fields = line.split()
        if sorted(fields) == sorted(_HEADER):
            return [_HEADER[name] for name in fields], number
        if fields:
            of_names = len(fields) == len(_QRELS) and not is_number(fields[-1])
            is_header = of_names and not any(name in known for name in fields[:-1])
            return _QRELS, number if is_header else number - 1
    return _QRELS, 0


def _qrels_files(folder: Path) -> dict[str, Path]:
    """Return split → file.

    Raises:
        SourceError: A split is there in two forms.
    """
    found: dict[str, Path] = {}
    for ending in ("tsv", "jsonl"):
        for file in packed_or_not(folder, f"qrels/*.{ending}"):
            split = file.name.partition(f".{ending}")[0]
            if found.setdefault(split, file) != file:
                raise SourceError(
                    f"{printable(file)} is the same split as {found[split].name}: move one away"
                )
    return dict(sorted(found.items()))


def _documents(file: Path) -> Iterator[_Document]:
    """Yield the lines, of which no two may have one id."""
    places: dict[str, str] = {}
    for place, document in read_lines(file, _Document):
        if (earlier := places.setdefault(document.identity, place)) != place:
            raise SourceError(taken(document.identity, place, earlier))
        yield document


def _labels(qrels: QrelsTable, origin: str) -> Iterable[Label]:
    pairs = zip(qrels.rows.tolist(), qrels.columns.tolist(), strict=True)
    for (row, column), relevance in zip(pairs, qrels.relevance.tolist(), strict=True):
        query, code = qrels.query_ids[row], qrels.code_ids[column]
        yield Label(query_id=query, code_id=code, origin=origin, relevance=relevance)


def _refuse_unknown(file: Path, kind: str, unknown: set[str]) -> None:
    if unknown:
        raise SourceError(
            f"{file}: {len(unknown)} judged ids of kind {kind} are not in the folder, "
            f"{min(unknown)!r} among them: take the qrels that belong to it"
        )
