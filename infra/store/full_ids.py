"""The step from ids of 80 bits to ids of 128: in the tables, and in the files of vectors.

The id of a query or code is a letter and the beginning of a hash of its text. Earlier releases took
20 hexadecimal digits of it. The full id is computed from the stored text, and an id that is not the
beginning of it stays as it is.
"""

from pathlib import Path

import duckdb
import pyarrow as pa

from infra.atomic import atomic_write, sync
from infra.errors import StoreError
from infra.identity import DIGITS, MARK_DIGITS
from infra.store.vector_files import VectorFile, write_vectors

_TEXTS = {"query": "queries", "code": "codes"}
_HOLDERS = {  # table → kinds of which it has ids
    **{table: (kind,) for kind, table in _TEXTS.items()},
    "collection_queries": ("query",),
    "collection_codes": ("code",),
    "source_labels": ("query", "code"),
    "candidates": ("query", "code"),
    "annotations": ("query", "code"),
    "llm_calls": ("query", "code"),
    "executions": ("query", "code"),
    "generated_codes": ("query", "code"),
    "confirmations": ("query",),
}


def _full_id(kind: str, text: str) -> str:
    """Return the SQL of the id that `infra.identity.digest` gives a text of a kind."""
    parts = (f"'{kind}'", text)
    hashed = " || ".join(f"unhex(lpad(to_hex(strlen({part})), 16, '0')) || encode({part})"
                         for part in parts)  # fmt: skip
    return f"'{kind[0]}' || left(sha256({hashed}), {DIGITS})"


def _statements() -> list[str]:
    made = [
        f"CREATE TEMP TABLE full_{kind} AS SELECT {kind}_id AS former, {_full_id(kind, 'text')} "  # noqa: S608 - literals above
        f"AS id FROM {table} WHERE starts_with(id, former) AND length(former) > {MARK_DIGITS}"
        for kind, table in _TEXTS.items()
    ]
    lifted = []
    for table, kinds in _HOLDERS.items():
        ids = ", ".join(
            f"{kind}_id = coalesce((SELECT id FROM full_{kind} WHERE former = {table}.{kind}_id), "  # noqa: S608
            f"{table}.{kind}_id)"
            for kind in kinds
        )
        lifted.append(f"UPDATE {table} SET {ids}")  # noqa: S608
    dropped = [f"DROP TABLE full_{kind}" for kind in _TEXTS]
    return [*made, *lifted, *dropped]


FULL_IDS = ";\n".join(_statements())


def lift_vectors(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Give the vectors below a folder the ids that their items have in a store.

    Each file is replaced whole or not at all, so that this can be killed and done again. Files that
    cannot be read stay as they are: `cosqa store check` tells of them.

    Args:
        connection: To the store.
        folder: The folder of vectors.

    Raises:
        DiskFullError: The disk has no room for a copy of a file.
    """
    for file in sorted(folder.rglob("*")):
        if file.suffix not in (".arrow", ".parquet"):
            continue
        opened = VectorFile(file)
        try:
            ids = _full_ids(connection, opened.ids)
            if ids is None:
                continue
            rows = opened.rows
        except StoreError:
            continue
        with atomic_write(file) as partial:
            write_vectors(partial, ids, rows)
            sync(partial)


def _full_ids(connection: duckdb.DuckDBPyConnection, ids: pa.ChunkedArray) -> list[str] | None:
    """Return the (n,) ids of items in a store instead of these, None where they are the same."""
    given = pa.table({"former": ids, "position": range(len(ids))})
    connection.register("given", given)
    found = connection.execute(
        "SELECT position, id FROM given JOIN (SELECT query_id AS id FROM queries "  # noqa: S608
        f"UNION ALL SELECT code_id FROM codes) ON former = left(id, {1 + MARK_DIGITS}) "
        "WHERE former <> id"
    ).fetchall()
    connection.unregister("given")
    if not found:
        return None
    full: list[str] = ids.to_pylist()
    for position, identity in found:
        full[position] = identity
    return full
