"""Tables of text in columns that are parted by white space, read fast, judged line by line."""

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from infra.errors import SourceError

NAME = pa.string()  # made a dictionary later: the reader is slow at making one itself
NUMBER = pa.float64()

_BLOCK_BYTES = 1 << 24
_SOMETHING = re.compile(rb"\S")
_RUNS = re.compile(rb"[ \t]+")
_EDGES = re.compile(rb"^ +| +(?=\r?$)", re.MULTILINE)


def read_columns(
    file: Path, names: Sequence[str], types: Mapping[str, pa.DataType], *, skip: int = 0
) -> pa.Table:
    """Return the columns of a file that have a type; empty lines are passed over.

    Args:
        file: UTF-8 text whose lines have as many fields as there are names.
        names: Of the columns.
        types: Column → type.
        skip: Lines at the top to leave out.

    Raises:
        SourceError: The file is missing, or a line has another number of fields or one that does
            not fit its type.
    """
    content, schema = _read(file), pa.schema(types)
    try:
        return _parsed(content, names, schema, skip)
    except pa.ArrowInvalid:
        folded = _EDGES.sub(b"", _RUNS.sub(b" ", content))  # seldom needed, and slow
    try:
        return _parsed(folded, names, schema, skip)
    except pa.ArrowInvalid as error:
        place, problem = _first_fault(content.split(b"\n"), names, types, skip)
        raise SourceError(f"{file}:{place}: {problem or error}") from None


def _parsed(content: bytes, names: Sequence[str], schema: pa.Schema, skip: int) -> pa.Table:
    body = 0
    for _ in range(skip):
        body = content.find(b"\n", body) + 1 or len(content)
    if not _SOMETHING.search(content, body):
        return schema.empty_table()
    return pyarrow.csv.read_csv(
        io.BytesIO(content),
        read_options=pyarrow.csv.ReadOptions(
            column_names=names, skip_rows=skip, block_size=_BLOCK_BYTES
        ),
        parse_options=pyarrow.csv.ParseOptions(delimiter=" ", quote_char=False),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=schema,
            include_columns=schema.names,
            strings_can_be_null=False,
            null_values=[],
        ),
    )


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SourceError(f"{file} cannot be read: {error.strerror}") from None


def _first_fault(
    lines: Sequence[bytes], names: Sequence[str], types: Mapping[str, pa.DataType], skip: int
) -> tuple[int, str]:
    for number, line in enumerate(lines[skip:], skip + 1):
        fields = line.split()
        if fields and len(fields) != len(names):
            return number, f"{len(fields)} fields where {' '.join(names)} were expected"
        for name, field in zip(names, fields, strict=False):
            if types.get(name) == NUMBER and not _fits(field, types[name]):
                return number, f"{name} is {field.decode(errors='replace')!r}, no number"
    return skip + 1, ""


def _fits(field: bytes, kind: pa.DataType) -> bool:
    try:
        pa.array([field.decode()]).cast(kind)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return False
    return True
