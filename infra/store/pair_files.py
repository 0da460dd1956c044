"""Files of the keys of pairs that a run judges, and the pairs read from them."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from infra.atomic import atomic_write
from infra.ids import RecipeId
from infra.records import Code, Pair, Query
from infra.store.database import Database

_PAIRS_AT_ONCE = 1_000


def new_keys_file(folder: Path, name: str) -> Path:
    """Return the path of a new file of keys in a store's folder; those of killed runs are removed.

    The caller holds the store's lease: no other run has such a file.
    """
    pending = folder / "pending"
    for left in pending.glob("*.arrow*"):
        left.unlink(missing_ok=True)
    return pending / f"{name}.arrow"


def write_unfinished(database: Database, recipe_id: RecipeId, file: Path, since: datetime) -> int:
    """Leave in a file of keys those that `unfinished` returns; return their number."""
    left = unfinished(database, recipe_id, read_keys(file), since)
    with database.space():
        return write_keys(left, file)


def unfinished(
    database: Database, recipe_id: RecipeId, keys: pa.Table, since: datetime
) -> pa.Table:
    """Return the keys of pairs that a recipe has not finished, and not failed to since a moment.

    Args:
        database: The store.
        recipe_id: The recipe.
        keys: Columns ``query_id`` and ``code_id``.
        since: When the run began, which tries each pair once. What failed later than now is of an
            earlier run: the clock was set back.
    """
    with database.transaction() as tx, tx.stream("planned", _numbered(keys)):
        return tx.arrow(
            "SELECT query_id, code_id FROM planned ANTI JOIN (SELECT query_id, code_id "
            "FROM annotations WHERE recipe_id = ? "
            "AND (status <> 'failed' OR annotated_at BETWEEN ? AND now())) "
            "USING (query_id, code_id) ORDER BY place",
            [recipe_id, since],
        )


def read_keys(file: Path) -> pa.Table:
    """Return the columns ``query_id`` and ``code_id`` of a file of keys, mapped into memory."""
    with pa.memory_map(str(file)) as source:
        return pa.ipc.open_file(source).read_all()


def pairs_in(
    database: Database, collection: str, file: Path, at_once: int = _PAIRS_AT_ONCE
) -> Iterator[Pair]:
    """Yield the pairs whose keys a file holds, in their order; texts are read for few at a time.

    Pairs whose texts have left the collection meanwhile are left out.

    Args:
        database: The store.
        collection: Whose queries and codes they are.
        file: What `write_pending` wrote.
        at_once: Pairs whose texts are read at once.
    """
    keys = read_keys(file)
    for start in range(0, keys.num_rows, at_once):
        yield from _load(database, collection, keys.slice(start, at_once))


def write_keys(keys: pa.Table, file: Path) -> int:
    """Write columns of keys to a file, whole or not at all; return the number of pairs."""
    with (
        atomic_write(file) as partial,
        pa.OSFile(str(partial), "wb") as sink,
        pa.ipc.new_file(sink, keys.schema) as writer,
    ):
        writer.write_table(keys)
    return int(keys.num_rows)


def _numbered(keys: pa.Table) -> pa.Table:
    return keys.append_column("place", pa.array(range(keys.num_rows), pa.int32()))


def _load(database: Database, collection: str, keys: pa.Table) -> list[Pair]:
    """Return the pairs with these keys, with what the collection says of their codes."""
    with database.transaction() as tx, tx.stream("wanted", _numbered(keys)):
        rows = tx.dicts(
            "SELECT query_id, queries.text AS query_text, code_id, codes.text, name, module, "
            "first_line, last_line, documentation, parameters, k.origin "
            "FROM wanted JOIN queries USING (query_id) JOIN codes USING (code_id) "
            "JOIN (SELECT * FROM collection_codes WHERE collection = ?) AS k USING (code_id) "
            "ORDER BY place",
            [collection],
        )
    return [_pair(row) for row in rows]


def _pair(row: dict[str, object]) -> Pair:
    not_of_code = {"query_id", "query_text"}
    return Pair(
        query=Query.model_validate({"query_id": row["query_id"], "text": row["query_text"]}),
        code=Code.model_validate({name: row[name] for name in row.keys() - not_of_code}),
    )
