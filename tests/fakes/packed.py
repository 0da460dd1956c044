"""What packed stores hold, as text."""

import sqlite3
import zlib
from pathlib import Path


def packed_text(folder: Path) -> str:
    """Return the contents of all packed stores below a folder, one after the other."""
    contents: list[bytes] = []
    for file in sorted(folder.rglob("*.sqlite")):
        with sqlite3.connect(file) as connection:
            rows = connection.execute("SELECT content FROM packed ORDER BY number")
            contents += [zlib.decompress(content) for (content,) in rows]
    return "".join(content.decode() for content in contents)
