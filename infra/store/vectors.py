"""The table of files of vectors, and the places of items in them.

The store knows files, not rows: which items a file has stands in the file itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from infra.store.database import Database
from infra.store.vector_files import VectorFile, Vectors, write_vectors

Kind = Literal["query", "code"]
Ids: TypeAlias = pa.StringArray

_MEMBERS = {
    "query": "SELECT DISTINCT query_id AS item_id FROM collection_queries",
    "code": "SELECT DISTINCT code_id AS item_id FROM collection_codes",
}
_TEXTS = {
    "query": "SELECT query_id AS item_id, text FROM queries",
    "code": "SELECT code_id AS item_id, text FROM codes",
}


class RecordedFile(NamedTuple):
    """A file of vectors that the store knows.

    Attributes:
        file: Its path below the folder of vectors.
        items: Number of vectors.
        dimension: Length of a vector; None for files of earlier releases.
    """

    file: str
    items: int
    dimension: int | None


@dataclass(frozen=True)
class Places:
    """Where the vectors of n items are.

    Attributes:
        files: The files, by their paths below the folder of vectors.
        file: (n,) position of each item's file among ``files``; -1 where it has no vector.
        row: (n,) row in that file.
        items: Numbers of vectors in the files.
    """

    files: Sequence[str]
    file: npt.NDArray[np.int32]
    row: npt.NDArray[np.int32]
    items: Sequence[int]

    @property
    def is_missing(self) -> npt.NDArray[np.bool_]:
        """(n,) whether an item has no vector."""
        missing: npt.NDArray[np.bool_] = self.file < 0
        return missing


def add_file(
    database: Database,
    encoder_key: str,
    kind: Kind,
    file: str,
    item_ids: Sequence[str],
    rows: Vectors,
) -> None:
    """Write (n,) ids and (n, d) vectors to a file below the folder of vectors, and record it."""
    write_vectors(database.settings.vectors / file, item_ids, rows)
    record_files(database, encoder_key, kind, [RecordedFile(file, *rows.shape)])


def record_files(
    database: Database, encoder_key: str, kind: Kind, files: Sequence[RecordedFile]
) -> None:
    """Store that files of vectors have been written, in one transaction."""
    with database.transaction() as tx:
        tx.insert(
            "vector_files",
            [{"encoder_key": encoder_key, "kind": kind, **file._asdict()} for file in files],
            on_conflict="ignore",
        )


def delete_files(database: Database, files: Sequence[str]) -> None:
    """Delete the records of lost files, so that their items are embedded again."""
    with database.transaction() as tx, tx.table("lost", {"file": files}):
        tx.execute("DELETE FROM vector_files WHERE file IN (SELECT file FROM lost)")


def files_of(database: Database, encoder_key: str, kind: Kind) -> list[RecordedFile]:
    """Return an encoder's files, in the order in which they were recorded."""
    with database.transaction() as tx:
        rows = tx.connection.execute(
            "SELECT file, items, dimension FROM vector_files "
            "WHERE encoder_key = ? AND kind = ? ORDER BY recorded_at, file",
            [encoder_key, kind],
        ).fetchall()
    return [RecordedFile(*row) for row in rows]


def lost_files(database: Database, encoder_key: str, kind: Kind) -> list[str]:
    """Return those of an encoder's files that are not in the folder of vectors."""
    folder = database.settings.vectors
    files = [recorded.file for recorded in files_of(database, encoder_key, kind)]
    return [file for file in files if not (folder / file).exists()]


def locate(database: Database, encoder_key: str, kind: Kind, ids: Ids) -> Places:
    """Return where the vectors of items are; of an item in several files, in the first recorded.

    Args:
        database: The store.
        encoder_key: Digest of the encoder's specification.
        kind: Queries or codes.
        ids: (n,) ids of items, of any collection; they may repeat.

    Raises:
        StoreError: A file is damaged.
    """
    folder = database.settings.vectors
    recorded = files_of(database, encoder_key, kind)
    files = [one.file for one in recorded if (folder / one.file).exists()]
    stored = [VectorFile(folder / file).ids for file in files]
    return Places(files, *places_in(stored, ids), items=[len(part) for part in stored])


def places_in(
    stored: Sequence[pa.ChunkedArray], ids: Ids
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return (n,) positions of the first list that has each id, -1 for none, and (n,) rows in it.

    Args:
        stored: Lists of ids.
        ids: (n,) ids to look for.
    """
    ends = np.cumsum([len(part) for part in stored], dtype=np.int64)
    chunks = [chunk for part in stored for chunk in part.chunks]
    found = pc.index_in(ids, value_set=pa.chunked_array(chunks, pa.string()))
    index = found.fill_null(-1).to_numpy(zero_copy_only=False)
    file = np.where(index < 0, -1, np.searchsorted(ends, index, side="right"))
    first = np.concatenate([[0], ends])[file]
    return file.astype(np.int32), (index - np.where(index < 0, 0, first)).astype(np.int32)


def member_ids(database: Database, collections: Sequence[str], kind: Kind) -> Ids:
    """Return the ids of the queries or codes of collections, each once, ascending."""
    with database.transaction() as tx, tx.table("wanted", {"collection": collections}):
        table = tx.arrow(f"{_MEMBERS[kind]} SEMI JOIN wanted USING (collection) ORDER BY item_id")
    return ids_of(table["item_id"])


def ids_of(ids: Sequence[str] | pa.ChunkedArray) -> Ids:
    """Return ids as one Arrow array."""
    if isinstance(ids, pa.ChunkedArray):
        return pa.concat_arrays(ids.cast(pa.string()).chunks or [pa.array([], pa.string())])
    return pa.array(ids, pa.string())


def load_texts(database: Database, kind: Kind, ids: Ids) -> list[str]:
    """Return the (n,) texts of queries or codes in the order of their ids."""
    wanted = pa.table({"item_id": ids, "position": np.arange(len(ids), dtype=np.int64)})
    with database.transaction() as tx, tx.stream("wanted", wanted):
        table = tx.arrow(
            f"SELECT text FROM ({_TEXTS[kind]}) JOIN wanted USING (item_id) "  # noqa: S608
            "ORDER BY position"
        )
    texts: list[str] = table["text"].to_pylist()
    return texts


def origins_of_texts(database: Database, kind: Kind, texts: Sequence[str]) -> dict[str, str]:
    """Return id → where it comes from, such as a file and a line, of the items with those texts.

    An item of no collection is left out; of one in several the first origin is told.
    """
    members = _MEMBERS[kind].replace("SELECT DISTINCT", "SELECT origin,")
    with database.transaction() as tx, tx.table("wanted", {"text": list(texts)}):
        rows = tx.rows(
            f"SELECT item_id, min(origin) FROM ({members}) JOIN ({_TEXTS[kind]}) "  # noqa: S608
            "USING (item_id) WHERE text IN (SELECT text FROM wanted) GROUP BY item_id ORDER BY 1"
        )
    return {str(item): str(origin) for item, origin in rows}


def count_vectors(database: Database, collection: str, encoder_key: str, kind: Kind) -> int:
    """Return the number of a collection's items that have a vector by this encoder."""
    ids = member_ids(database, [collection], kind)
    return int(np.count_nonzero(~locate(database, encoder_key, kind, ids).is_missing))
