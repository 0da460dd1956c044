"""BEIR's folders (Thakur et al. 2021, arXiv 2104.08663), read as benchmarks.

``corpus.jsonl`` and ``queries.jsonl`` have an ``_id`` and a ``text`` on each line, the corpus maybe
a ``title``, which BEIR's own tools put before the text; ``qrels/<split>.tsv`` has query, code and
score, mostly below a header; ``qrels/<split>.jsonl``, as mteb's copies have it, has the same by
name. The ids stay as the folder gives them. Each file may be compressed by gzip.
"""

import json
import logging
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from infra.errors import SourceError
from infra.records import Code, Label, Query, SourceInfo
from tasks.benchmarks.benchmark import Benchmark, columns_of, fit_name
from tasks.benchmarks.qrels import QrelsTable
from tasks.benchmarks.runs import ID
from tasks.benchmarks.splits import SPLITS
from tasks.benchmarks.trec import qrels_table, write_lines
from tasks.files.columns import NAME, NUMBER, is_number, read_columns
from tasks.files.json_lines import read_lines, refuse_repeated
from tasks.files.text import packed_or_not, printable, read_text_lines

_TYPES = {"query": NAME, "code": NAME, "relevance": NUMBER}
_QRELS = tuple(_TYPES)
_HEADER = {"query-id": "query", "corpus-id": "code", "score": "relevance"}
_SPLIT = re.compile(r"(.+)\.(?:tsv|jsonl)(?:\.gz)?")
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


def is_beir(folder: Path) -> bool:
    """Return True if a folder has BEIR's corpus."""
    return any((folder / f"corpus.jsonl{ending}").is_file() for ending in ("", ".gz"))


def beir_split(path: Path, usual: str = "") -> tuple[Path, str] | None:
    """Return the BEIR folder and the split that a path names; None where it is no such path.

    Args:
        path: A BEIR folder, or a file in its ``qrels``.
        usual: The split of a folder with several, if it has that one.

    Raises:
        SourceError: The folder has several splits, and none of them is named.
    """
    if path.parent.name == "qrels" and path.is_file() and is_beir(path.parent.parent):
        split = _SPLIT.fullmatch(path.name)
        return (path.parent.parent, split[1]) if split else None
    if not is_beir(path):
        return None
    files = _qrels_files(path)
    splits = set(files) or {"test"}
    if len(splits) > 1 and usual not in splits:
        raise SourceError(
            f"{printable(path)} has {len(splits)} splits: name one of "
            f"{', '.join(map(printable, files.values()))}"
        )
    return path, usual if usual in splits else splits.pop()


def read_beir(folder: Path, split: str = "test", *, needs_labels: bool = True) -> Benchmark:
    """Return a BEIR folder as a benchmark, with the queries that the split judges.

    A judged code that is not in the corpus counts as one that no ranking finds, as it does for
    trec_eval, and is told by a warning.

    Args:
        folder: With ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/``.
        split: Name of the qrels file to read.
        needs_labels: Whether a folder without qrels is refused; else it has all its queries.

    Raises:
        SourceError: A file is missing or a line malformed, an id is repeated, or a judged query is
            not in the folder, or no code that is there is relevant.
    """
    corpus, queries_file = (
        [*packed_or_not(folder, name), folder / name][0]
        for name in ("corpus.jsonl", "queries.jsonl")
    )
    file = _qrels_files(folder).get(split, folder / "qrels" / f"{split}.tsv")
    codes: dict[str, Code] = {code.code_id: code for code in _codes(corpus)}
    queries: dict[str, Query] = {query.query_id: query for query in _queries(queries_file)}
    source = SourceInfo(name="beir", licence="unknown", revision=split, location=folder.name)
    benchmark = Benchmark(
        name=fit_name(folder.resolve().name, "beir"),
        label_origin=f"beir:{split}",
        queries=tuple(queries.values()),
        codes=tuple(codes.values()),
        labels=(),
        sources=(source,),
    )
    if not needs_labels and not file.parent.exists():
        return benchmark
    qrels = read_beir_qrels(file, queries.keys() | codes.keys())
    if not (qrels.relevance > 0).any():
        raise SourceError(
            f"{file} judges no code as relevant, so nothing can be scored: take another split, or "
            "put the judgements there, lines such as q1<tab>c1<tab>1"
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
            printable(file), corpus.name, f"{number:,}", ", ".join(missing[:5]),
        )  # fmt: skip
    return benchmark.model_copy(
        update={
            "queries": tuple(queries[query] for query in sorted(qrels.query_ids)),
            "labels": labels,
            "dropped": {_MISSING: number} if missing else {},
        }
    )


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


def _codes(file: Path) -> Iterator[Code]:
    for document in _distinct(file):
        text = f"{document.title} {document.text}".strip() if document.title else document.text
        yield Code(code_id=document.identity, text=text or " ", origin=file.name)


def _queries(file: Path) -> Iterator[Query]:
    for document in _distinct(file):
        yield Query(query_id=document.identity, text=document.text or " ", origin=file.name)


def _distinct(file: Path) -> list[_Document]:
    lines = list(read_lines(file, _Document))
    refuse_repeated((document.identity, place) for place, document in lines)
    return [document for _, document in lines]


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


def write_beir(benchmark: Benchmark, folder: Path) -> None:
    """Write ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/test.tsv``, sorted by id.

    Where the queries are split, ``qrels/`` has a file for each part.
    """
    (folder / "qrels").mkdir(parents=True)
    columns = columns_of(benchmark)
    corpus = (
        {"_id": code.code_id, "title": "", "text": code.text, **_metadata(code)}
        for code in columns.codes.ordered()
    )
    write_lines(folder / "corpus.jsonl", map(_json_line, corpus))
    questions = (
        {"_id": query.query_id, "text": query.text, **_metadata(query)}
        for query in columns.queries.ordered()
    )
    write_lines(folder / "queries.jsonl", map(_json_line, questions))
    parts: dict[str, list[str]] = {part: [] for part in (SPLITS if benchmark.splits else ["test"])}
    for label in columns.labels.ordered():
        line = f"{label.query_id}\t{label.code_id}\t{label.relevance:.12g}"
        parts[benchmark.splits.get(label.query_id, "test")].append(line)
    for part, lines in parts.items():
        header = "query-id\tcorpus-id\tscore"
        write_lines(folder / "qrels" / f"{part}.tsv", [header, *lines])


def _metadata(record: Query | Code) -> dict[str, dict[str, str]]:
    """Return BEIR's ``metadata``: split, source, language, licence and address where known."""
    known = {name: getattr(record, name) for name in sorted(record.added) if getattr(record, name)}
    return {"metadata": known} if known else {}


def _json_line(row: Mapping[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False)
