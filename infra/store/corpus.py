"""Tables of the collect stage: collections with their queries, codes and source labels."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

import pyarrow as pa

from infra.collected import Content
from infra.records import Code, Query, Record, SourceInfo
from infra.store.database import Database, Transaction
from infra.store.inputs import record_inputs
from infra.store.spool import SpooledContent, spooled
from infra.store.texts import refuse_other_text

_OWN_TABLES = (
    *("collections", "dropped", "collection_sources"),
    *("collection_queries", "collection_codes", "source_labels"),
)
# DuckDB's own memory for an insertion: without a limit it takes what the machine has; the indexes
# of the ids must fit in (a million rows pass at 256 MB).
_LEAST_MB, _MB_PER_MILLION = 128, 128
_READING_MB = 1_024  # DuckDB's own while it joins and sorts texts
_INDEXED = ("queries", "codes", "collection_queries", "collection_codes")


class StoredCollection(Record):
    """A stored collection; ``is_annotated`` says whether the agents annotate its pairs.

    ``content`` is the digest of all that was read, "" where an earlier release has read it.
    """

    name: str
    fingerprint: str
    queries: int
    codes: int
    is_annotated: bool
    content: str = ""


def collections_of(database: Database, fingerprint: str) -> list[StoredCollection]:
    """Return the collections of a source with this fingerprint, the annotated one first."""
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT collection AS name, fingerprint, for_agents AS is_annotated, "
            "(SELECT count(*) FROM collection_queries AS q WHERE q.collection = c.collection) "
            "AS queries, "
            "(SELECT count(*) FROM collection_codes AS k WHERE k.collection = c.collection) "
            "AS codes, coalesce((SELECT content FROM collection_inputs AS i "
            "WHERE i.collection = c.collection), '') AS content "
            "FROM collections AS c WHERE fingerprint = ? ORDER BY for_agents DESC, name",
            [fingerprint],
        )
    return [StoredCollection.model_validate(row) for row in rows]


def replace_collections(
    database: Database,
    fingerprint: str,
    contents: Mapping[str, Content],
    annotated: str,
    advance: Callable[[int], object] = bool,
    stamp: str = "",
) -> None:
    """Store all collections of a source in place of their earlier versions, in one transaction.

    The contents are read first, into files beside the database, which stays open to others
    meanwhile; memory does not grow with their size. Texts of queries and codes are never deleted,
    since other collections and annotations may refer to them.

    Args:
        database: The store.
        fingerprint: Digest of everything that the source read.
        contents: Collection → its content.
        annotated: The collection whose pairs the agents annotate.
        advance: Called with the number of items that were read since its last call.
        stamp: Of the inputs; with the same one it need not be read again.

    Raises:
        SourceError: See `Content.items`; nothing was stored.
        DiskFullError: The disk is full; nothing was stored.
    """
    with ExitStack() as stack:
        stack.enter_context(database.space())
        files = {
            name: stack.enter_context(spooled(content, database.settings.folder, advance))
            for name, content in contents.items()
        }
        with database.transaction() as tx:
            rows = sum(spool.rows for content in files.values() for spool in content)
            rows += sum(tx.count(f"SELECT count(*) FROM {table}") for table in _INDEXED)  # noqa: S608
            tx.limit_memory(_LEAST_MB + rows * _MB_PER_MILLION // 10**6)
            for name, content in contents.items():
                for table in _OWN_TABLES:
                    tx.execute(f"DELETE FROM {table} WHERE collection = ?", [name])  # noqa: S608
                _insert_info(tx, name, fingerprint, content, is_annotated=name == annotated)
                _insert_content(tx, name, files[name])
                record_inputs(tx, name, stamp, files[name].digest)


def _insert_info(
    tx: Transaction, collection: str, fingerprint: str, content: Content, *, is_annotated: bool
) -> None:
    info = content.info
    row = {
        "collection": collection,
        "fingerprint": fingerprint,
        "source": info.name,
        "licence": info.licence,
        "revision": info.revision,
        "location": info.location,
        "for_agents": is_annotated,
    }
    tx.insert("collections", [row])
    tx.insert(
        "dropped",
        [
            {"collection": collection, "rule": rule, "items": items}
            for rule, items in content.dropped.items()
        ],
    )
    tx.insert(
        "collection_sources",
        [
            {"collection": collection, "position": position, **part.model_dump()}
            for position, part in enumerate(content.parts)
        ],
    )


def _insert_content(tx: Transaction, collection: str, content: SpooledContent) -> None:
    for kind, identity, spool in (
        ("queries", "query_id", content.queries),
        ("codes", "code_id", content.codes),
    ):
        with tx.stream("incoming", spool.read()):
            tx.execute(
                f"INSERT OR IGNORE INTO {kind} SELECT {identity}, text FROM incoming"  # noqa: S608
            )
        with tx.stream("incoming", spool.read()):
            refuse_other_text(tx, kind, identity)
        with tx.stream("incoming", spool.read()):
            tx.execute(
                f"INSERT INTO collection_{kind} BY NAME "  # noqa: S608 - literals above
                "SELECT $1 AS collection, * EXCLUDE (text) FROM incoming",
                [collection],
            )
    with tx.stream("incoming", content.labels.read()):
        tx.execute(
            "INSERT INTO source_labels BY NAME SELECT $1 AS collection, * FROM incoming",
            [collection],
        )


def load_queries(database: Database, collection: str, limit: int | None = None) -> list[Query]:
    """Return a collection's queries, at most ``limit``, in the source's order."""
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT query_id, text, origin, split "
            "FROM collection_queries JOIN queries USING (query_id) "
            "WHERE collection = ? ORDER BY position LIMIT ?",
            [collection, limit if limit is not None else 2**31],
        )
    return [Query.model_validate(row) for row in rows]


def load_codes(
    database: Database, collection: str, only: Sequence[str] | None = None
) -> list[Code]:
    """Return a collection's codes, those with an id in ``only`` if given, in the source's order."""
    wanted = None if only is None else list(only)
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT * EXCLUDE (collection, position) FROM collection_codes "
            "JOIN codes USING (code_id) WHERE collection = ? "
            "AND (?::VARCHAR[] IS NULL OR code_id IN (SELECT unnest(?::VARCHAR[]))) "
            "ORDER BY position",
            [collection, wanted, wanted],
        )
    return [Code.model_validate(row) for row in rows]


def query_columns(database: Database, collection: str) -> pa.Table:
    """Return the fields of a collection's queries as columns, ascending by id."""
    with database.transaction() as tx:
        tx.limit_memory(_READING_MB)
        return tx.arrow(
            "SELECT query_id, text, origin, split "
            "FROM collection_queries JOIN queries USING (query_id) "
            "WHERE collection = ? ORDER BY query_id",
            [collection],
        )


def code_columns(database: Database, collection: str) -> pa.Table:
    """Return the fields of a collection's codes as columns, ascending by id."""
    with database.transaction() as tx:
        tx.limit_memory(_READING_MB)
        return tx.arrow(
            "SELECT * EXCLUDE (collection, position) FROM collection_codes "
            "JOIN codes USING (code_id) WHERE collection = ? ORDER BY code_id",
            [collection],
        )


def label_columns(database: Database, collection: str, origin: str) -> pa.Table:
    """Return the labels of one origin that came with a source, as columns, ascending by ids."""
    with database.transaction() as tx:
        return tx.arrow(
            "SELECT query_id, code_id, origin, relevance FROM source_labels "
            "WHERE collection = ? AND origin = ? ORDER BY query_id, code_id",
            [collection, origin],
        )


def count_source_labels(database: Database, collection: str) -> int:
    """Return the number of labels that came with a collection's source."""
    with database.transaction() as tx:
        return tx.count("SELECT count(*) FROM source_labels WHERE collection = ?", [collection])


def label_origins(database: Database, collection: str) -> list[str]:
    """Return the origins of the labels that came with a collection's source, ascending."""
    with database.transaction() as tx:
        rows = tx.rows(
            "SELECT DISTINCT origin FROM source_labels WHERE collection = ? ORDER BY origin",
            [collection],
        )
    return [str(origin) for (origin,) in rows]


def load_source(database: Database, collection: str) -> tuple[SourceInfo, dict[str, int]]:
    """Return a collection's source, and rule → number of items that it dropped."""
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


def load_parts(database: Database, collection: str) -> list[SourceInfo]:
    """Return the sources that a collection was put together from, or the one that it is of."""
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT name, licence, revision, location FROM collection_sources "
            "WHERE collection = ? ORDER BY position",
            [collection],
        )
    return [SourceInfo.model_validate(row) for row in rows] or [
        load_source(database, collection)[0]
    ]


def code_ids(database: Database, collection: str) -> list[str]:
    """Return the ids of a collection's codes in ascending order."""
    with database.transaction() as tx:
        rows = tx.arrow(
            "SELECT code_id FROM collection_codes WHERE collection = ? ORDER BY code_id",
            [collection],
        )
    ids: list[str] = rows["code_id"].to_pylist()
    return ids
