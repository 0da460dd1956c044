"""TREC's tables: text in columns separated by white space, run files, and qrels from columns.

A run (https://trec.nist.gov, as trec_eval reads it) has lines ``query Q0 code rank score tag``. The
ranks are ignored, as trec_eval ignores them: scores decide, and ties fall by id. pyarrow reads the
columns; DuckDB makes a truth value of a run's tag ``t``. Runs of white space are folded, and a
fault's line is found, by our own lines.
"""

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from infra.errors import SourceError
from tasks.benchmarks.runs import (
    Numbering,
    Positions,
    QrelsTable,
    Rankings,
    RepeatedCodeError,
    numbered,
    rank_numbered,
)
from tasks.inputs.text import UNREADABLE, not_utf_8, opened, printable, read_text_lines, regular

NAME = pa.string()  # made a dictionary later: the reader is slow at making one itself
NUMBER = pa.float64()

_BLOCK_BYTES = 1 << 23
_STREAMED_BYTES = 1 << 25
_RUNS = re.compile(rb"[ \t]+")
_EDGES = re.compile(rb"^ +| +(?=\r?$)", re.MULTILINE)


def read_columns(
    file: Path, names: Sequence[str], types: Mapping[str, pa.DataType], *, skip: int = 0
) -> pa.Table:
    """Return the columns of a file that have a type; empty lines are passed over.

    Args:
        file: UTF-8 text whose lines have as many fields as there are names; compressed if its name
            ends with ``.gz``.
        names: Of the columns.
        types: Column → type.
        skip: Lines at the top to leave out.

    Raises:
        SourceError: The file is missing, or a line has another number of fields or one that does
            not fit its type.
    """
    schema = pa.schema(types)
    try:
        with opened(regular(file)) as stream:
            return pyarrow.csv.read_csv(stream, **_options(names, schema, skip))
    except UNREADABLE as error:
        problem = getattr(error, "strerror", None) or error
        raise SourceError(f"{printable(file)} cannot be read: {problem}") from None
    except pa.ArrowInvalid:
        return _read_folded(file, names, schema, skip)


def _read_folded(file: Path, names: Sequence[str], schema: pa.Schema, skip: int) -> pa.Table:
    """Return a file whose fields are not separated by single spaces, or raise what is wrong."""
    with opened(file) as stream:
        content = stream.read()
    lines = content.split(b"\n")
    if not any(line.strip() for line in lines[skip:]):
        return schema.empty_table()
    folded = _EDGES.sub(b"", _RUNS.sub(b" ", content))
    try:
        return pyarrow.csv.read_csv(io.BytesIO(folded), **_options(names, schema, skip))
    except pa.ArrowInvalid as error:
        place, problem = _first_fault(lines, names, schema, skip)
        raise SourceError(f"{file}:{place}: {problem or error}") from None


def _options(
    names: Sequence[str], schema: pa.Schema, skip: int = 0, block: int = _BLOCK_BYTES
) -> dict[str, object]:
    return {
        "read_options": pyarrow.csv.ReadOptions(
            column_names=names, skip_rows=skip, block_size=block
        ),
        "parse_options": pyarrow.csv.ParseOptions(delimiter=" ", quote_char=False),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types=schema,
            include_columns=schema.names,
            strings_can_be_null=False,
            null_values=[],
        ),
    }


def _first_fault(
    lines: Sequence[bytes], names: Sequence[str], schema: pa.Schema, skip: int
) -> tuple[int, str]:
    numbers = {name for name in schema.names if schema.field(name).type == NUMBER}
    for number, line in enumerate(lines[skip:], skip + 1):
        try:
            fields = line.decode().split()
        except UnicodeDecodeError as error:
            return number, not_utf_8(error)
        if fields and len(fields) != len(names):
            remedy = ": they must be tab-separated" if b";" in line or b"," in line else ""
            return number, f"{len(fields)} fields where {' '.join(names)} were expected{remedy}"
        for name, field in zip(names, fields, strict=False):
            if name in numbers and not is_number(field):
                return number, f"{name} is {field!r}, no number"
    return skip + 1, ""


def line_of(file: Path, *fields: str) -> str:
    """Return ``file:line`` of the last line that has some fields; the file where none has."""
    found = [number for number, line in read_text_lines(file) if {*fields} <= {*line.split()}]
    return ":".join(map(str, [printable(file), *found[-1:]]))


def is_number(field: str) -> bool:
    """Return True if a field is one of a column of numbers."""
    try:
        pa.array([field]).cast(NUMBER)
    except pa.ArrowInvalid:
        return False
    return True


_RUN = ("query", "Q0", "code", "rank", "score", "tag")


def read_run(file: Path) -> Rankings:
    """Return the rankings of a run file.

    Raises:
        SourceError: The file is missing, a line is malformed, a score is not a number, a query has
            a code twice, or few rankings are far longer than the others.
    """
    types = {"query": NAME, "code": NAME, "score": NUMBER}
    try:  # most are separated by single spaces, and are read some tens of megabytes at a time
        options = _options(_RUN, pa.schema(types), block=_STREAMED_BYTES)
        with opened(regular(file)) as stream:
            columns = _run_columns(pyarrow.csv.open_csv(stream, **options))
    except (*UNREADABLE, pa.ArrowInvalid):
        columns = _run_columns(read_columns(file, _RUN, types).to_batches())
    queries, rows, codes, positions, scores = columns
    for place in np.flatnonzero(np.isnan(scores))[:1].tolist():
        line = line_of(file, queries[rows[place]], codes[positions[place]])
        raise SourceError(f"{line}: a score is not a number: list each result with its score")
    try:
        return rank_numbered(*columns)
    except RepeatedCodeError as error:
        raise SourceError(f"{line_of(file, error.query, error.code)}: {error}") from None
    except ValueError as error:
        raise SourceError(f"{file}: {error}") from None


def _run_columns(
    batches: Iterable[pa.RecordBatch],
) -> tuple[list[str], Positions, list[str], Positions, npt.NDArray[np.float64]]:
    """Return a run's columns as `rank_numbered` takes them."""
    queries, codes, scores = Numbering(), Numbering(), [np.empty(0)]
    for batch in batches:
        queries.add(batch["query"])
        codes.add(batch["code"])
        scores.append(batch["score"].to_numpy(zero_copy_only=False))
    return *queries.result(), *codes.result(), np.concatenate(scores)


def qrels_table(file: Path, table: pa.Table) -> QrelsTable:
    """Return the columns query, code and relevance of a file as qrels.

    Raises:
        SourceError: A pair is judged twice, or by no finite number.
    """
    query_ids, rows = numbered(table["query"])
    code_ids, columns = numbered(table["code"])
    pairs = np.sort(rows * len(code_ids) + columns)
    for pair in pairs[1:][pairs[1:] == pairs[:-1]][:1].tolist():
        query, code = query_ids[pair // len(code_ids)], code_ids[pair % len(code_ids)]
        raise SourceError(
            f"{line_of(file, query, code)}: code {code!r} is judged twice for query {query!r}: "
            "keep one of the lines"
        )
    relevance = table["relevance"].to_numpy()
    for place in np.flatnonzero(~np.isfinite(relevance))[:1].tolist():
        query, code = query_ids[int(rows[place])], code_ids[int(columns[place])]
        raise SourceError(
            f"{line_of(file, query, code)}: the relevance of code {code!r} for query {query!r} is "
            f"{relevance[place]}: give each pair a finite number"
        )
    return QrelsTable(query_ids, code_ids, rows, columns, relevance)
