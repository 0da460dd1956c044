"""Files of vectors, written and read whole."""

from collections.abc import Sequence
from pathlib import Path

from infra.store import Database, vectors
from infra.store.vectors import Kind, VectorFile, Vectors, write_vectors


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
    vectors.record_files(database, encoder_key, kind, {file: len(rows)})


def read_vectors(file: Path) -> tuple[list[str], Vectors]:
    """Return the (n,) ids and (n, d) vectors of a file."""
    opened = VectorFile(file)
    return opened.ids.to_pylist(), opened.rows
