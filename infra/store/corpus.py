"""Tables of the collect stage: collections with queries, codes and the sources' own labels."""

from collections.abc import Sequence

from infra.records import Code, Collected, Label, Query, SourceInfo
from infra.store.database import Database, Transaction


def fingerprint_of(database: Database, collection: str) -> str | None:
    """Return the fingerprint under which a collection was stored, None where there is none."""
    with database.transaction() as tx:
        found = tx.value("SELECT fingerprint FROM collections WHERE collection = ?", [collection])
    return None if found is None else str(found)


def replace_collection(
    database: Database, collection: str, fingerprint: str, collected: Collected
) -> None:
    """Store a collection in place of its earlier state, in one transaction.

    Texts of queries and codes are only ever added, since other collections and annotations may
    speak of them.
    """
    with database.transaction() as tx:
        for table in (
            "collections", "dropped", "collection_queries", "collection_codes", "source_labels"
        ):  # fmt: skip
            tx.execute(f"DELETE FROM {table} WHERE collection = ?", [collection])  # noqa: S608
        _insert_collection(tx, collection, fingerprint, collected)


def _insert_collection(
    tx: Transaction, collection: str, fingerprint: str, collected: Collected
) -> None:
    info = collected.info
    tx.insert(
        "collections",
        [
            {
                "collection": collection,
                "fingerprint": fingerprint,
                "source": info.name,
                "licence": info.licence,
                "revision": info.revision,
                "location": info.location,
            }
        ],
    )
    tx.insert(
        "dropped",
        [
            {"collection": collection, "rule": rule, "items": items}
            for rule, items in collected.dropped.items()
        ],
    )
    _insert_queries(tx, collection, collected.queries)
    _insert_codes(tx, collection, collected.codes)
    tx.insert(
        "source_labels",
        [{"collection": collection, **label.model_dump()} for label in collected.labels],
    )


def _insert_queries(tx: Transaction, collection: str, queries: Sequence[Query]) -> None:
    tx.insert(
        "queries",
        [{"query_id": query.query_id, "text": query.text} for query in queries],
        on_conflict="ignore",
    )
    tx.insert(
        "collection_queries",
        [
            {
                "collection": collection,
                "position": position,
                "query_id": query.query_id,
                "origin": query.origin,
            }
            for position, query in enumerate(queries)
        ],
    )


def _insert_codes(tx: Transaction, collection: str, codes: Sequence[Code]) -> None:
    tx.insert(
        "codes",
        [{"code_id": code.code_id, "text": code.text} for code in codes],
        on_conflict="ignore",
    )
    tx.insert(
        "collection_codes",
        [
            {"collection": collection, "position": position}
            | code.model_dump(exclude={"text"})
            | {"parameters": list(code.parameters)}
            for position, code in enumerate(codes)
        ],
    )


def load_queries(database: Database, collection: str, limit: int | None = None) -> list[Query]:
    """Return a collection's queries in the source's order, the first ``limit`` of them."""
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT query_id, text, origin FROM collection_queries JOIN queries USING (query_id) "
            "WHERE collection = ? ORDER BY position LIMIT ?",
            [collection, limit if limit is not None else 2**31],
        )
    return [Query.model_validate(row) for row in rows]


def load_codes(database: Database, collection: str) -> list[Code]:
    """Return a collection's codes in the source's order."""
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT code_id, text, name, module, first_line, last_line, documentation, parameters, "
            "origin FROM collection_codes JOIN codes USING (code_id) "
            "WHERE collection = ? ORDER BY position",
            [collection],
        )
    return [Code.model_validate(row) for row in rows]


def load_source_labels(database: Database, collection: str) -> list[Label]:
    """Return the labels that came with a collection's source."""
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT query_id, code_id, origin, relevance, demo FROM source_labels "
            "WHERE collection = ? ORDER BY origin, query_id, code_id",
            [collection],
        )
    return [Label.model_validate(row) for row in rows]


def load_source(database: Database, collection: str) -> tuple[SourceInfo, dict[str, int]]:
    """Return where a collection comes from and how many items each rule dropped."""
    with database.transaction() as tx:
        info = tx.dicts(
            "SELECT source AS name, licence, revision, location FROM collections "
            "WHERE collection = ?",
            [collection],
        )[0]
        dropped = tx.rows(
            "SELECT rule, items FROM dropped WHERE collection = ? ORDER BY rule", [collection]
        )
    return SourceInfo.model_validate(info), {str(rule): int(str(items)) for rule, items in dropped}


def code_ids(database: Database, collection: str) -> list[str]:
    """Return the ids of a collection's codes in ascending order."""
    with database.transaction() as tx:
        rows = tx.rows(
            "SELECT code_id FROM collection_codes WHERE collection = ? ORDER BY code_id",
            [collection],
        )
    return [str(row[0]) for row in rows]
