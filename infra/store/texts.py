"""Tables of texts: each query and each code once, whatever collections it belongs to."""

from collections.abc import Iterable

from infra.errors import StoreError
from infra.records import Code, Query
from infra.store.database import Transaction


def insert_texts(
    tx: Transaction, queries: Iterable[Query] = (), codes: Iterable[Code] = ()
) -> None:
    """Store the texts of queries and codes that are not stored yet.

    Raises:
        StoreError: An id is stored with another text.
    """
    for kind, identity, rows in (
        ("queries", "query_id", [{"query_id": one.query_id, "text": one.text} for one in queries]),
        ("codes", "code_id", [{"code_id": one.code_id, "text": one.text} for one in codes]),
    ):
        tx.insert(kind, rows, on_conflict="ignore")
        if rows:
            with tx.table("incoming", {name: [row[name] for row in rows] for name in rows[0]}):
                refuse_other_text(tx, kind, identity)


def refuse_other_text(tx: Transaction, kind: str, identity: str) -> None:
    """Refuse texts of a table ``incoming`` whose ids other texts have.

    Ids are 128 bits of a hash, and nobody finds two texts with one. If somebody did, what was
    judged of the one would be believed of the other.

    Raises:
        StoreError: There is one.
    """
    found = tx.rows(
        f"SELECT {identity} FROM incoming JOIN {kind} USING ({identity}) "  # noqa: S608 - literals
        f"WHERE incoming.text <> {kind}.text LIMIT 1"
    )
    if found:
        raise StoreError(
            f"two texts have the id {found[0][0]}, one of which was made for that: leave it out of "
            "the source; nothing was stored"
        )
