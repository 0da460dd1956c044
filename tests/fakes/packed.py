"""What packed stores hold, as text, and their files without what was removed."""

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

from infra.packed import PackedStore
from infra.sqlite import connect


def packed_text(folder: Path) -> str:
    """Return the contents of all packed stores below a folder, one after the other."""
    contents: list[bytes] = []
    for file in sorted(folder.rglob("*.sqlite")):
        with sqlite3.connect(file) as connection:
            rows = connection.execute("SELECT content FROM packed ORDER BY number")
            contents += [zlib.decompress(content) for (content,) in rows]
    return "".join(content.decode() for content in contents)


def pack(store: PackedStore) -> None:
    """Write a store's file anew, without the room that removed entries took and without a log."""
    with closing(connect(store.file)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint (TRUNCATE)")
