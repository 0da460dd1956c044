"""The agents' annotations with all evidence, read as Arrow batches of bounded size.

Part by part, the rows of three tables are sorted together and put side by side: an annotation, its
model calls, its executions. No row becomes a Python object.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import TemporaryFile

import numpy as np
import pyarrow as pa

from infra.store.database import Database, Transaction

_MEMORY_MB = 1_024  # DuckDB's own while it sorts; what is more goes to files beside the database
_PART = 65_536  # annotations that are sorted at once, with all their rows
_BATCH = 16_384  # rows of the three tables together
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")

_KEY = "query_id, code_id, recipe_id"
_ANNOTATION = (
    *("query_id", "code_id", "recipe_id", "replicate", "kind", "status", "label"),
    *("decided_by", "path", "reason", "support", "judgements", "agreeing", "seconds"),
)
_CALL = (
    *("role", "attempt", "model", "prompt_digest", "status", "reply", "error"),
    *("prompt_tokens", "completion_tokens", "cost_usd", "seconds", "cached"),
)
_EXECUTION = (
    *("round", "program", "requirements", "outcome", "error_type", "message", "missing_module"),
    *("seconds", "peak_memory_mb", "stdout", "stderr", "tests_run", "asserts_executed"),
    "target_calls",
)
_LAST = 2**31 - 1
_NESTED = {  # JSON texts
    "oracle": "oracle::VARCHAR",
    "tests": "(details->'$.tests')::VARCHAR",
    "repairs": "(details->'$.repairs')::VARCHAR",
    "beside": "details->>'$.beside'",
}


@dataclass(frozen=True)
class EvidenceSelection:
    """Annotations that have not failed: those that labels rest on, and single ones.

    Attributes:
        supporting_annotations: Keys of those that labels rest on, as `Decided` has them: those of
            the labels that were read, whatever is judged since; a pair's are in the order of the
            labelling rounds. None selects the single ones alone.
        others: Further (query, code, recipe), after those of the rounds.
    """

    supporting_annotations: pa.Table | None = None
    others: tuple[tuple[str, str, str], ...] = ()


def count_evidence(
    database: Database, selection: EvidenceSelection, codes: pa.Array | None = None
) -> int:
    """Return the number of selected annotations.

    Args:
        database: The store.
        selection: Which annotations.
        codes: Ids of the only codes whose annotations are wanted; all if not given.
    """
    with database.transaction() as tx, tx.stream("chosen", _chosen(tx, selection, codes)):
        return tx.count(f"SELECT count(*) FROM annotations JOIN chosen USING ({_KEY})")  # noqa: S608 - literals only


def read_evidence(
    database: Database, selection: EvidenceSelection, codes: pa.Array | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the selected annotations, ascending by query and code.

    The columns are those of an annotation, with the lists ``calls`` and ``executions``. Which ones
    are selected is decided at the beginning. They are read in parts, each in a transaction of its
    own that has ended before its first batch is yielded, so that other processes can write in
    between: an annotation that is replaced meanwhile is read whole, as it was or as it is; one that
    has failed since is left out.

    Args:
        database: The store.
        selection: Which annotations.
        codes: Ids of the only codes whose annotations are wanted; all if not given.
    """
    with database.transaction() as tx:
        chosen = _chosen(tx, selection, codes)
    for first in range(0, chosen.num_rows, _PART):
        yield from _read_part(database, chosen.slice(first, _PART))


def _read_part(database: Database, chosen: pa.Table) -> Iterator[pa.RecordBatch]:
    """Yield some annotations, from a file without a name that is written in one transaction."""
    with database.space(), TemporaryFile(dir=database.settings.folder) as file:
        with database.transaction() as tx, tx.stream("chosen", chosen):
            tx.limit_memory(_MEMORY_MB)
            tx.execute(
                f"CREATE TEMP TABLE part AS SELECT place, {_KEY} FROM annotations "  # noqa: S608 - literals only
                f"JOIN chosen USING ({_KEY}) WHERE status <> 'failed'"
            )
            rows = tx.connection.sql(
                f"SELECT place, 0 AS kind, 0 AS ordinal, {_struct(_ANNOTATION)} AS annotation, "  # noqa: S608 - literals only
                f"NULL AS call, NULL AS execution FROM annotations JOIN part USING ({_KEY}) "
                f"UNION ALL SELECT place, 1, ordinal, NULL, {_struct(_CALL)}, NULL "
                f"FROM llm_calls JOIN part USING ({_KEY}) "
                f"UNION ALL SELECT place, 2, ordinal, NULL, NULL, {_struct(_EXECUTION, **_NESTED)} "
                f"FROM executions JOIN part USING ({_KEY}) ORDER BY place, kind, ordinal"
            ).to_arrow_reader(_BATCH)
            with pa.ipc.new_stream(file, rows.schema, options=_OPTIONS) as writer:
                for batch in rows:
                    writer.write_batch(batch)
            tx.execute("DROP TABLE part")  # after an error, the rollback drops it
        file.seek(0)
        waiting: list[pa.RecordBatch] = []
        for batch in pa.ipc.open_stream(file):
            several = pa.concat_batches([*waiting, batch])
            places = several["place"].to_numpy()
            last = int(np.searchsorted(places, places[-1])) if len(places) else 0
            if last:
                yield _assembled(several.slice(0, last))
            waiting = [several.slice(last)]  # the rest of the last annotation may come next
        if waiting and waiting[0].num_rows:
            yield _assembled(waiting[0])


def _chosen(tx: Transaction, selection: EvidenceSelection, codes: pa.Array | None) -> pa.Table:
    """Return the keys of the annotations in their order, each with its place."""
    names = ("query_id", "code_id", "recipe_id")
    keys = [dict(zip(names, key, strict=True)) for key in selection.others]
    others = pa.Table.from_pylist(keys, schema=pa.schema(dict.fromkeys(names, pa.string())))
    others = others.append_column("round", pa.array([_LAST] * len(keys), pa.int32()))
    if selection.supporting_annotations is not None:
        others = pa.concat_tables([selection.supporting_annotations, others])
    wanted = pa.table({"code_id": pa.array([], pa.string()) if codes is None else codes})
    only = "" if codes is None else "SEMI JOIN wanted USING (code_id) "
    with tx.stream("selected", others), tx.stream("wanted", wanted):
        return tx.arrow(
            f"WITH keys AS (SELECT {_KEY}, min(round) AS round FROM annotations "  # noqa: S608 - literals only
            f"JOIN selected USING ({_KEY}) {only} WHERE status <> 'failed' GROUP BY {_KEY}) "
            f"SELECT {_KEY}, row_number() OVER (ORDER BY query_id, code_id, round, recipe_id) "
            "AS place FROM keys ORDER BY place"
        )


def _struct(names: tuple[str, ...], **expressions: str) -> str:
    """Return the SQL of a struct of columns, and of further fields by their expressions."""
    fields = dict(zip(names, names, strict=True)) | expressions
    return "{" + ", ".join(f"'{name}': {sql}" for name, sql in fields.items()) + "}"


def _assembled(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return annotations with their lists, from rows that begin with an annotation each."""
    places, kinds = rows["place"].to_numpy(), rows["kind"].to_numpy()
    annotations = rows["annotation"].filter(pa.array(kinds == 0))
    columns = dict(zip(annotations.type.names, annotations.flatten(), strict=True))
    for kind, name, values in ((1, "calls", rows["call"]), (2, "executions", rows["execution"])):
        of_kind = kinds == kind
        starts = np.searchsorted(places[of_kind], places[kinds == 0])
        offsets = pa.array(np.append(starts, of_kind.sum()), pa.int32())
        columns[name] = pa.ListArray.from_arrays(offsets, values.filter(pa.array(of_kind)))
    return pa.RecordBatch.from_pydict(columns)
