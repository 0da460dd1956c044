"""Rows of any number in little memory: a content is read to its end before a transaction begins."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import pyarrow as pa

from infra.collected import Content
from infra.records import Code, Label, Query

_BATCH = 2_048  # rows
_TEXT = pa.string()
_POSITION = {"position": pa.int32()}
_QUERY = dict.fromkeys(Query.model_fields, _TEXT)
_CODE = dict.fromkeys(Code.model_fields, _TEXT) | {
    "first_line": pa.int32(),
    "last_line": pa.int32(),
    "parameters": pa.list_(_TEXT),
}
_LABEL = dict.fromkeys(Label.model_fields, _TEXT) | {"relevance": pa.float64()}


class TempTable:
    """Rows of any number in little memory: written one by one, then read back as Arrow batches.

    Args:
        schema: Column → type.
        folder: Where the file is; it has no name there, so that a killed process leaves nothing.
    """

    def __init__(self, schema: Mapping[str, pa.DataType], folder: Path) -> None:
        self.rows = 0
        self._schema = pa.schema(schema)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by __exit__
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        self._writer = pa.ipc.new_stream(self._file, self._schema, options=options)
        self._waiting: list[Mapping[str, object]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, row: Mapping[str, object]) -> None:
        """Add a row, column → value."""
        self._waiting.append(row)
        self.rows += 1
        if len(self._waiting) == _BATCH:
            self._write()

    def read(self) -> pa.RecordBatchReader:
        """Return all rows so far, in their order; none can be added afterwards."""
        if self._waiting:
            self._write()
        self._writer.close()
        self._file.seek(0)
        return pa.ipc.open_stream(self._file)

    def _write(self) -> None:
        batch = pa.RecordBatch.from_pylist(self._waiting, schema=self._schema)
        self._writer.write_batch(batch)
        self._waiting = []


class BufferedContent(NamedTuple):
    """A content that was read to its end; the rows of queries and codes have positions."""

    queries: TempTable
    codes: TempTable
    labels: TempTable


@contextmanager
def buffer_to_disk(
    content: Content, folder: Path, advance: Callable[[int], object]
) -> Iterator[BufferedContent]:
    """Read a content into files in a folder, which are gone after the ``with``.

    Args:
        content: What to read.
        folder: Where the files are.
        advance: Called with the number of items that were read since its last call.

    Raises:
        SourceError: See `Content.items`.
    """
    with (
        TempTable(_POSITION | _QUERY, folder) as queries,
        TempTable(_POSITION | _CODE, folder) as codes,
        TempTable(_LABEL, folder) as labels,
    ):
        number = 0
        for number, item in enumerate(content.items(), 1):
            if isinstance(item, Label):
                labels.add(dict(item))
            else:
                table = queries if isinstance(item, Query) else codes
                table.add({"position": table.rows, **dict(item)})
            if not number % _BATCH:
                advance(_BATCH)
        advance(number % _BATCH)
        yield BufferedContent(queries, codes, labels)
