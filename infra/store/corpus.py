"""Tables of the collect stage: collections with their queries, codes and own labels."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack

import pyarrow as pa

from infra.collected import Content, StoredCollection
from infra.errors import StoreError
from infra.identity import CodeId
from infra.records import Code, Query, SourceInfo
from infra.store.database import BufferedContent, Database, Transaction, buffer_to_disk
from infra.store.votes import record_votes
from infra.subsets import ALL, Draw

_OWN_TABLES = (
    *("collections", "dropped", "collection_sources"),
    *("collection_queries", "collection_codes"),
)
# DuckDB's own memory for an insertion: without a limit it takes what the machine has; the indexes
# of the ids must fit in (a million rows pass at 256 MB).
_LEAST_MB, _MB_PER_MILLION = 128, 128
_READING_MB = 1_024  # DuckDB's own while it joins and sorts texts
_LANGUAGE = "if(language = '', 'python', language)"  # where its source names none it is Python
_INDEXED = ("queries", "codes", "collection_queries", "collection_codes")
_QUERIES = (
    "SELECT query_id, text, origin, split FROM collection_queries JOIN queries USING (query_id) "
    "WHERE collection = $1"
)
_CODES = (
    "SELECT * EXCLUDE (collection, position) FROM collection_codes JOIN codes USING (code_id) "
    "WHERE collection = $1"
)
_PLACE = "coalesce(nullif(url, ''), nullif(origin, ''), code_id)"


def insert_texts(
    tx: Transaction, queries: Iterable[Query] = (), codes: Iterable[Code] = ()
) -> None:
    """Store the texts of queries and codes that are not stored yet.

    Raises:
        StoreError: An id is stored with another text.
    """
    for kind, identity, texts in (
        ("queries", "query_id", [(one.query_id, one.text) for one in queries]),
        ("codes", "code_id", [(one.code_id, one.text) for one in codes]),
    ):
        if texts:
            ids, bodies = zip(*texts, strict=True)
            columns = pa.table({identity: list(ids), "text": list(bodies)})
            _insert_texts(tx, kind, identity, columns.to_reader)


def _insert_texts(
    tx: Transaction, kind: str, identity: str, read: Callable[[], pa.RecordBatchReader]
) -> None:
    """Store texts that are read twice, and refuse those whose ids other texts have.

    Ids are 128 bits of a hash, and nobody finds two texts with one. If somebody did, what was
    judged of the one would be believed of the other.

    Raises:
        StoreError: There is one.
    """
    with tx.stream("incoming", read()):
        tx.execute(f"INSERT OR IGNORE INTO {kind} SELECT {identity}, text FROM incoming")  # noqa: S608
    with tx.stream("incoming", read()):
        found = tx.column(
            f"SELECT {identity} FROM incoming JOIN {kind} USING ({identity}) "  # noqa: S608 - literals
            f"WHERE incoming.text <> {kind}.text LIMIT 1"
        )
    if found:
        raise StoreError(
            f"two texts have the id {found[0]}, one of which was made for that: leave it out of "
            "the source; nothing was stored"
        )


def collections_of(database: Database, fingerprint: str) -> list[StoredCollection]:
    """Return the collections of a source with this fingerprint, the annotated one first."""
    return database.records(
        StoredCollection,
        "SELECT collection AS name, fingerprint, for_agents AS is_annotated, "
        "(SELECT count(*) FROM collection_queries AS q WHERE q.collection = c.collection) "
        "AS queries, "
        "(SELECT count(*) FROM collection_codes AS k WHERE k.collection = c.collection) "
        "AS codes, input_digest FROM collections AS c "
        "WHERE fingerprint = ? ORDER BY for_agents DESC, name",
        [fingerprint],
    )


def replace_collections(
    database: Database,
    fingerprint: str,
    contents: Mapping[str, Content],
    annotated: str,
    advance: Callable[[int], object] = bool,
    input_digest: str = "",
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
        input_digest: Of the inputs; with the same one it need not be read again.

    Raises:
        SourceError: See `Content.items`; nothing was stored.
    """
    with ExitStack() as stack:
        stack.enter_context(database.space())
        files = {
            name: stack.enter_context(buffer_to_disk(content, database.settings.folder, advance))
            for name, content in contents.items()
        }
        with database.transaction() as tx:
            rows = sum(table.rows for content in files.values() for table in content)
            rows += sum(tx.count(f"SELECT count(*) FROM {table}") for table in _INDEXED)  # noqa: S608
            tx.limit_memory(_LEAST_MB + rows * _MB_PER_MILLION // 10**6)
            for name, content in contents.items():
                for table in _OWN_TABLES:
                    tx.execute(f"DELETE FROM {table} WHERE collection = ?", [name])  # noqa: S608
                tx.execute("DELETE FROM votes WHERE collection = ? AND annotator = ''", [name])
                own = {
                    "fingerprint": fingerprint,
                    "for_agents": name == annotated,
                    "input_digest": input_digest,
                }
                _insert_collection(tx, name, own, content, files[name])


def _insert_collection(
    tx: Transaction,
    collection: str,
    own: Mapping[str, object],
    content: Content,
    buffered: BufferedContent,
) -> None:
    """Store what a collection's source says of it, and its queries, codes and labels."""
    info = content.info
    row = {
        "collection": collection,
        "source": info.name,
        **info.model_dump(exclude={"name"}),
        **own,
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
    for kind, identity, table in (
        ("queries", "query_id", buffered.queries),
        ("codes", "code_id", buffered.codes),
    ):
        _insert_texts(tx, kind, identity, table.read)
        with tx.stream("incoming", table.read()):
            tx.execute(
                f"INSERT INTO collection_{kind} BY NAME "  # noqa: S608 - literals above
                "SELECT $1 AS collection, * EXCLUDE (text) FROM incoming",
                [collection],
            )
    record_votes(tx, collection, buffered.labels.read())


def documented_by_language(database: Database, collection: str) -> dict[str, tuple[int, int]]:
    """Return language → number of a collection's codes with and without documentation."""
    query = f"""
        SELECT {_LANGUAGE} AS language,
            count(*) FILTER (documentation <> ''), count(*) FILTER (documentation = '')
        FROM collection_codes WHERE collection = ? GROUP BY 1 ORDER BY 1
    """  # noqa: S608 - a literal above
    rows = database.rows(query, [collection])
    return {language: (with_, without) for language, with_, without in rows}


def places_of(
    database: Database, collection: str, ids: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Return code → its name and its URL; what has none is where its source found it."""
    with database.transaction() as tx, tx.table("wanted", {"code_id": ids}):
        rows = tx.rows(
            f"SELECT code_id, name, {_PLACE} "  # noqa: S608 - a literal
            "FROM collection_codes SEMI JOIN wanted USING (code_id) WHERE collection = ?",
            [collection],
        )
    return {code: (name, url) for code, name, url in rows}


def known_places(database: Database, collection: str, places: Sequence[str]) -> set[str]:
    """Return the URLs at which a collection has a code, by `places_of`."""
    with database.transaction() as tx, tx.table("wanted", {"place": places}):
        rows = tx.rows(
            f"SELECT DISTINCT {_PLACE} FROM collection_codes SEMI JOIN wanted ON {_PLACE} = place "  # noqa: S608 - a literal
            "WHERE collection = ?",
            [collection],
        )
    return {place for (place,) in rows}


def drawn_queries(tx: Transaction, collection: str, draw: Draw) -> list[str] | None:
    """Return the ids of the queries that are drawn of a collection; None where all are."""
    if draw == ALL:
        return None
    rows = tx.rows("SELECT query_id FROM collection_queries WHERE collection = ?", [collection])
    return sorted(draw.of(query_id for (query_id,) in rows))


def texts_of(database: Database, ids: Iterable[str]) -> dict[str, str]:
    """Return id → text of queries and codes, of any collection or none."""
    with database.transaction() as tx, tx.table("wanted", {"id": sorted(set(ids))}):
        rows = tx.rows(
            "SELECT code_id, text FROM codes SEMI JOIN wanted ON code_id = id UNION ALL "
            "SELECT query_id, text FROM queries SEMI JOIN wanted ON query_id = id"
        )
    return dict(rows)


def languages_of(database: Database, ids: Iterable[str]) -> dict[str, str]:
    """Return id → language of the codes of which a collection names one."""
    with database.transaction() as tx, tx.table("wanted", {"id": sorted(set(ids))}):
        rows = tx.rows(
            "SELECT code_id, max(language) FROM collection_codes SEMI JOIN wanted ON code_id = id "
            "WHERE language <> '' GROUP BY code_id"
        )
    return dict(rows)


def functions_of(database: Database, code_id: CodeId) -> list[Code]:
    """Return a code as each collection has it that has one of this text."""
    return database.records(
        Code,
        "SELECT code_id, text, name, module, origin, url FROM collection_codes "
        "JOIN codes USING (code_id) WHERE code_id = ? ORDER BY collection",
        [code_id],
    )


def load_queries(database: Database, collection: str) -> list[Query]:
    """Return a collection's queries in the source's order."""
    return database.records(Query, f"{_QUERIES} ORDER BY position", [collection])


def load_codes(
    database: Database, collection: str, only: Sequence[str] | None = None
) -> list[Code]:
    """Return a collection's codes, those with an id in ``only`` if given, in the source's order."""
    wanted = None if only is None else list(only)
    chosen = "($2::VARCHAR[] IS NULL OR code_id IN (SELECT unnest($2::VARCHAR[])))"
    return database.records(Code, f"{_CODES} AND {chosen} ORDER BY position", [collection, wanted])


def query_columns(database: Database, collection: str) -> pa.Table:
    """Return the fields of a collection's queries as columns, ascending by id."""
    with database.transaction() as tx:
        tx.limit_memory(_READING_MB)
        return tx.arrow(f"{_QUERIES} ORDER BY query_id", [collection])


def code_columns(database: Database, collection: str, language: str = "") -> pa.Table:
    """Return the fields of a collection's codes, or those in a language, ascending by id."""
    with database.transaction() as tx:
        tx.limit_memory(_READING_MB)
        of_language = f"$2 IN ('', {_LANGUAGE})"
        return tx.arrow(f"{_CODES} AND {of_language} ORDER BY code_id", [collection, language])


def label_columns(database: Database, collection: str, origin: str) -> pa.Table:
    """Return the labels of one origin that came with a source, as columns, ascending by ids."""
    return database.arrow(
        "SELECT query_id, code_id, origin, relevance, note FROM votes "
        "WHERE collection = ? AND origin = ? AND annotator = '' ORDER BY query_id, code_id",
        [collection, origin],
    )


def count_source_labels(database: Database, collection: str) -> int:
    """Return the number of labels that came with a collection's source."""
    query = "SELECT count(*) FROM votes WHERE collection = ? AND annotator = ''"
    return database.count(query, [collection])


def label_origins(database: Database, collection: str) -> list[str]:
    """Return the origins of the labels that came with a collection's source, ascending."""
    return database.column(
        "SELECT DISTINCT origin FROM votes WHERE collection = ? AND annotator = '' ORDER BY origin",
        [collection],
    )


def load_source(database: Database, collection: str) -> tuple[SourceInfo, dict[str, int]]:
    """Return a collection's source, and rule → number of items that it dropped."""
    with database.transaction() as tx:
        [info] = tx.records(
            SourceInfo,
            "SELECT source AS name, licence, revision, location FROM collections "
            "WHERE collection = ?",
            [collection],
        )
        dropped = tx.rows(
            "SELECT rule, items FROM dropped WHERE collection = ? ORDER BY rule", [collection]
        )
    return info, dict(dropped)


def load_parts(database: Database, collection: str) -> list[SourceInfo]:
    """Return the sources that a collection was put together from, or the one that it is of."""
    parts = database.records(
        SourceInfo,
        "SELECT name, licence, revision, location FROM collection_sources "
        "WHERE collection = ? ORDER BY position",
        [collection],
    )
    return parts or [load_source(database, collection)[0]]


def code_ids(database: Database, collection: str, language: str = "") -> list[str]:
    """Return the ids of a collection's codes, or of those in a language, in ascending order."""
    query = (
        "SELECT code_id FROM collection_codes "  # noqa: S608 - a literal above
        f"WHERE collection = $1 AND $2 IN ('', {_LANGUAGE}) ORDER BY code_id"
    )
    ids: list[str] = database.arrow(query, [collection, language])["code_id"].to_pylist()
    return ids
