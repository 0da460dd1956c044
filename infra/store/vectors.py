"""The table of vectors: which Parquet file has which item's vector."""

from collections.abc import Sequence
from typing import Literal

from infra.store.database import Database

Kind = Literal["query", "code"]

_MEMBERS = {
    "query": "SELECT query_id AS item_id FROM collection_queries WHERE collection = $collection",
    "code": "SELECT code_id AS item_id FROM collection_codes WHERE collection = $collection",
}
_TEXTS = {
    "query": "SELECT query_id AS item_id, text FROM queries",
    "code": "SELECT code_id AS item_id, text FROM codes",
}


def items_without_vector(
    database: Database, collection: str, encoder_key: str, kind: Kind
) -> list[tuple[str, str]]:
    """Return (id, text) of a collection's items without a vector by this encoder, ordered by id."""
    with database.transaction() as tx:
        rows = tx.connection.execute(
            f"WITH members AS ({_MEMBERS[kind]}) "  # noqa: S608 - both parts are literals above
            f"SELECT item_id, text FROM members JOIN ({_TEXTS[kind]}) USING (item_id) "
            "ANTI JOIN (SELECT item_id FROM vectors "
            "           WHERE encoder_key = $encoder_key AND kind = $kind) USING (item_id) "
            "ORDER BY item_id",
            {"collection": collection, "encoder_key": encoder_key, "kind": kind},
        ).fetchall()
    return [(str(item), str(text)) for item, text in rows]


def record_file(
    database: Database, encoder_key: str, kind: Kind, file: str, items: Sequence[str]
) -> None:
    """Store which items a written Parquet file has vectors of."""
    with database.transaction() as tx:
        tx.insert(
            "vectors",
            [
                {"encoder_key": encoder_key, "kind": kind, "item_id": item, "file": file}
                for item in items
            ],
            on_conflict="ignore",
        )


def delete_file(database: Database, file: str) -> None:
    """Delete the records of a missing file, so that its items are embedded again."""
    with database.transaction() as tx:
        tx.execute("DELETE FROM vectors WHERE file = ?", [file])


def file_names(database: Database, collection: str, encoder_key: str, kind: Kind) -> list[str]:
    """Return the names of the files with vectors of a collection's items, ascending."""
    with database.transaction() as tx:
        rows = tx.connection.execute(
            f"WITH members AS ({_MEMBERS[kind]}) "  # noqa: S608 - a literal above
            "SELECT DISTINCT file FROM vectors SEMI JOIN members USING (item_id) "
            "WHERE encoder_key = $encoder_key AND kind = $kind ORDER BY file",
            {"collection": collection, "encoder_key": encoder_key, "kind": kind},
        ).fetchall()
    return [str(file) for (file,) in rows]


def count_vectors(database: Database, collection: str, encoder_key: str, kind: Kind) -> int:
    """Return the number of a collection's items that have a vector by this encoder."""
    with database.transaction() as tx:
        (row,) = tx.connection.execute(
            f"WITH members AS ({_MEMBERS[kind]}) "  # noqa: S608 - a literal above
            "SELECT count(*) FROM vectors SEMI JOIN members USING (item_id) "
            "WHERE encoder_key = $encoder_key AND kind = $kind",
            {"collection": collection, "encoder_key": encoder_key, "kind": kind},
        ).fetchall()
    return int(row[0])


def files_of(
    database: Database, collection: str, encoder_key: str, kind: Kind
) -> dict[str, list[str]]:
    """Return file → ids of the collection's items whose vector it has, ascending."""
    with database.transaction() as tx:
        rows = tx.connection.execute(
            f"WITH members AS ({_MEMBERS[kind]}) "  # noqa: S608 - a literal above
            "SELECT file, list(item_id ORDER BY item_id) FROM vectors JOIN members USING (item_id) "
            "WHERE encoder_key = $encoder_key AND kind = $kind GROUP BY file ORDER BY file",
            {"collection": collection, "encoder_key": encoder_key, "kind": kind},
        ).fetchall()
    return {str(file): [str(item) for item in items] for file, items in rows}


def files_holding(
    database: Database, encoder_key: str, kind: Kind, items: Sequence[str]
) -> dict[str, list[str]]:
    """Return file → those of the items whose vector it has; items without a vector are left out.

    Args:
        database: The store.
        encoder_key: Digest of the encoder's specification.
        kind: Queries or codes.
        items: Ids of items, of any collection.
    """
    with database.transaction() as tx, tx.table("wanted", {"item_id": list(items)}):
        rows = tx.rows(
            "SELECT file, list(item_id ORDER BY item_id) FROM vectors "
            "SEMI JOIN wanted USING (item_id) WHERE encoder_key = ? AND kind = ? "
            "GROUP BY file ORDER BY file",
            [encoder_key, kind],
        )
    return {str(file): [str(item) for item in ids] for file, ids in rows if isinstance(ids, list)}
