"""Table of what collections were read from, by which a run knows whether to read them again."""

from collections.abc import Mapping, Sequence

from infra.store.database import Database, Transaction


def record_inputs(tx: Transaction, collection: str, stamp: str, content: str) -> None:
    """Store a collection's stamp, the digest of its content and how many items it has."""
    tx.execute("DELETE FROM collection_inputs WHERE collection = ?", [collection])
    tx.execute(
        "INSERT INTO collection_inputs SELECT $1, $2, $3, "
        "(SELECT count(*) FROM collection_queries WHERE collection = $1), "
        "(SELECT count(*) FROM collection_codes WHERE collection = $1), "
        "(SELECT count(*) FROM source_labels WHERE collection = $1)",
        [collection, stamp, content],
    )


def adopt_collections(database: Database, collections: Sequence[str], stamp: str) -> None:
    """Store the stamp of collections that were stored without one."""
    with database.transaction() as tx:
        for collection in collections:
            content = tx.value(
                "SELECT content FROM collection_inputs WHERE collection = ?", [collection]
            )
            record_inputs(tx, collection, stamp, str(content or ""))


def stamps_of(database: Database, collections: Sequence[str]) -> Mapping[str, str]:
    """Return collection → its stamp; "" where rows of the collection or texts of them are missing.

    Collections that were stored without a stamp, as by an earlier release, are left out.
    """
    with database.transaction() as tx:
        rows = tx.rows(
            "SELECT collection, CASE WHEN "
            "queries = (SELECT count(*) FROM collection_queries AS q JOIN queries "
            "USING (query_id) WHERE q.collection = i.collection) AND "
            "codes = (SELECT count(*) FROM collection_codes AS c JOIN codes "
            "USING (code_id) WHERE c.collection = i.collection) AND "
            "labels = (SELECT count(*) FROM source_labels AS l "
            "WHERE l.collection = i.collection) THEN stamp ELSE '' END "
            "FROM collection_inputs AS i WHERE stamp <> '' AND list_contains(?, collection)",
            [list(collections)],
        )
    return {str(collection): str(stamp) for collection, stamp in rows}
