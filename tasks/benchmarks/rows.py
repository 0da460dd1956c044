"""Records in Arrow columns, each of which is made when it is read, and the columns of an export.

653,994 functions take 0.6 GB as columns and 2 GB as records. `Rows` is a sequence of records to
those who read it one by one, and columns to those who count, filter or write.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, Literal, TypeVar, overload

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from infra.records import Code, Label, Query, Record

_TEXT = pa.string()
_PAIR = {"query_id": _TEXT, "code_id": _TEXT}

PAIR = pa.schema(_PAIR)
QUERIES = pa.schema({"query_id": _TEXT, "text": _TEXT, "origin": _TEXT, "split": _TEXT})
CODES = pa.schema(
    {
        "code_id": _TEXT,
        "text": _TEXT,
        "name": _TEXT,
        "module": _TEXT,
        "first_line": pa.int32(),
        "last_line": pa.int32(),
        "documentation": _TEXT,
        "parameters": pa.list_(_TEXT),
        "origin": _TEXT,
        "source": _TEXT,
        "language": _TEXT,
        "licence": _TEXT,
        "url": _TEXT,
        "split": _TEXT,
    }
)
LABELS = pa.schema({**_PAIR, "relevance": pa.float64(), "origin": _TEXT, "note": _TEXT})
SPLITS = pa.schema({"query_id": _TEXT, "split": _TEXT})
ROUNDS = pa.schema(
    {**_PAIR, "round": pa.int32(), "recipe_id": _TEXT, "status": _TEXT, "label": pa.int8()}
)
UNDECIDED = pa.schema({**_PAIR, "reason": _TEXT})

SPECIFICATIONS = pa.schema(
    {
        "query_id": _TEXT,
        "recipe_id": _TEXT,
        "model": _TEXT,
        "reading": _TEXT,
        **dict.fromkeys(("demands", "left_open", "examples"), pa.list_(_TEXT)),
        "clarity": _TEXT,
        "is_underspecified": pa.bool_(),
        "cannot_show": _TEXT,
    }
)

_CALL = pa.struct(
    {
        "role": _TEXT,
        "attempt": pa.int32(),
        "model": _TEXT,
        "prompt_digest": _TEXT,
        "status": _TEXT,
        "reply": _TEXT,
        "error": _TEXT,
        "prompt_tokens": pa.int64(),
        "completion_tokens": pa.int64(),
        "cost_usd": pa.float64(),
        "seconds": pa.float64(),
        "cached": pa.bool_(),
    }
)
_EXECUTION = pa.struct(
    {
        "round": pa.int32(),
        "program": _TEXT,
        "requirements": pa.list_(_TEXT),
        "outcome": _TEXT,
        "error_type": _TEXT,
        "message": _TEXT,
        "missing_module": _TEXT,
        "seconds": pa.float64(),
        "peak_memory_mb": pa.float64(),
        "stdout": _TEXT,
        "stderr": _TEXT,
        "tests_run": pa.int32(),
        "asserts_executed": pa.int32(),
        "target_calls": pa.int32(),
        "oracle": _TEXT,
        "tests": _TEXT,
        "repairs": _TEXT,
        "beside": _TEXT,
    }
)
EVIDENCE = pa.schema(
    {
        **_PAIR,
        "recipe_id": _TEXT,
        "replicate": pa.int32(),
        "kind": _TEXT,
        "status": _TEXT,
        "label": pa.int8(),
        "decided_by": _TEXT,
        "path": _TEXT,
        "reason": _TEXT,
        "support": _TEXT,
        "judgements": pa.int32(),
        "agreeing": pa.int32(),
        "seconds": pa.float64(),
        "calls": pa.list_(_CALL),
        "executions": pa.list_(_EXECUTION),
    }
)
NESTED = ("oracle", "tests", "repairs")  # JSON texts of an execution; oldest exports have the first


class Undecided(Record):
    """A pair that the agents finished without a judgement, and why."""

    query_id: str
    code_id: str
    reason: str


class LabelledPair(Record):
    """The ids of a labelled pair."""

    query_id: str
    code_id: str


class QuerySpecification(Record):
    """The specification of a query, by which all its candidates were judged.

    Attributes:
        query_id: The query.
        recipe_id: The recipe whose agents wrote it: its version.
        model: The model that wrote it.
        reading: The most likely reading.
        demands: What an answer must do.
        left_open: What an answer may do as it likes.
        examples: Calls and the values that are demanded of them, as in ``[3, 1], 2 => [1, 3]``.
        clarity: ``underspecified`` where readings differ too much for one label to be right.
        is_underspecified: The same as a mark to filter by.
        cannot_show: Why no value can show an answer, as in ``network``; ``none`` where one can.
    """

    query_id: str
    recipe_id: str
    model: str
    reading: str
    demands: tuple[str, ...] = ()
    left_open: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    clarity: Literal["clear", "underspecified"]
    is_underspecified: bool
    cannot_show: str = "none"


Row = TypeVar("Row", bound=Record)
_BATCH = 4_096  # records that exist at once while all are read

SCHEMAS: dict[type[Record], pa.Schema] = {
    Query: QUERIES,
    Code: CODES,
    Label: LABELS,
    Undecided: UNDECIDED,
    LabelledPair: PAIR,
    QuerySpecification: SPECIFICATIONS,
}


class Rows(Sequence[Row], Generic[Row]):
    """A sequence of records of one kind over the columns of a table.

    Args:
        kind: The records' class: `Query`, `Code`, `Label`, `LabelledPair`, `Undecided` or
            `QuerySpecification`.
        table: Their columns in any order; fields without one, as in older exports, have their
            default.
    """

    def __init__(self, kind: type[Row], table: pa.Table) -> None:
        self.kind = kind
        for name in kind.model_fields.keys() - set(table.column_names):
            default = kind.model_fields[name].default
            table = table.append_column(name, pa.array([default] * table.num_rows, pa.string()))
        schema = pa.schema([SCHEMAS[kind].field(name) for name in kind.model_fields])
        self.table = table.select(schema.names).cast(schema)
        self._made = TypeAdapter(list[kind])  # type: ignore[valid-type]

    @classmethod
    def of(cls, kind: type[Row], records: Iterable[Row]) -> "Rows[Row]":
        """Return records as rows; rows as they are."""
        if isinstance(records, Rows):
            return records
        rows = [record.model_dump() for record in records]
        return cls(kind, pa.Table.from_pylist(rows, schema=SCHEMAS[kind]))

    def column(self, name: str) -> pa.ChunkedArray:
        """Return the values of one field, in the order of the records."""
        return self.table[name]

    def where(self, mask: pa.Array | pa.ChunkedArray) -> "Rows[Row]":
        """Return the records for which a column of booleans is true."""
        return Rows(self.kind, self.table.filter(mask))

    def among(self, name: str, values: pa.Array | pa.ChunkedArray) -> "Rows[Row]":
        """Return the records one field of which has one of some values."""
        return self.where(pc.is_in(self.column(name), value_set=values))

    def joined(self, others: Iterable[Row]) -> "Rows[Row]":
        """Return the records, and others after them."""
        return Rows(self.kind, pa.concat_tables([self.table, Rows.of(self.kind, others).table]))

    def ordered(self) -> "Rows[Row]":
        """Return the records in ascending order of their ids (`keys`)."""
        keys = self.keys
        if _ascends(self.table, keys):
            return self
        order = pc.sort_indices(self.table, sort_keys=[(key, "ascending") for key in keys])
        return Rows(self.kind, self.table.take(order))

    @property
    def keys(self) -> list[str]:
        """Names of the ids that tell the records apart."""
        return [name for name in ("query_id", "code_id") if name in self.kind.model_fields]

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[Row]:
        for batch in self.table.to_batches(max_chunksize=_BATCH):
            yield from self._made.validate_python(batch.to_pylist())

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> "Rows[Row]": ...
    def __getitem__(self, place: int | slice) -> "Row | Rows[Row]":
        places = range(len(self))[place]
        if isinstance(places, int):
            [record] = self._made.validate_python(self.table.slice(places, 1).to_pylist())
            found: Row = record
            return found
        if places.step == 1:
            return Rows(self.kind, self.table.slice(places.start, len(places)))
        return Rows(self.kind, self.table.take(pa.array(places, pa.int64())))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Rows):
            return self.kind is other.kind and bool(self.table.equals(other.table))
        if isinstance(other, Sequence) and not isinstance(other, str):
            return len(self) == len(other) and all(
                one == two for one, two in zip(self, other, strict=True)
            )
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self):,} {self.kind.__name__} records>"


def _ascends(table: pa.Table, keys: Sequence[str]) -> bool:
    """Return True if no row of a table has smaller keys than the one before it."""
    count = max(table.num_rows - 1, 0)
    falls: pa.ChunkedArray | None = None
    for key in reversed(keys):
        before, after = table[key].slice(0, count), table[key].slice(1)
        rises, falls_here = pc.less(before, after), pc.greater(before, after)
        falls = falls_here if falls is None else pc.and_not(pc.or_(falls_here, falls), rises)
    return not pc.any(falls).as_py()
