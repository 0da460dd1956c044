"""Annotation sinks: the protocol, and the sink that writes to the store."""

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Protocol

from infra.atomic import atomic_write
from infra.errors import StoreError
from infra.records import Annotation
from infra.store import Database, annotations
from tasks.runtime.run_logger import run_logger


class AnnotationSink(Protocol):
    """A consumer: `StoreSink`, or `tasks.runtime.mailbox.RayAnnotationQueue` on a worker."""

    def put(self, annotation: Annotation) -> bool:
        """Accept one annotation; return whether more are wanted."""
        ...


class StoreSink:
    """Sink that stores each annotation at once, from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()  # DuckDB opens one file in one thread of a process at a time

    def put(self, annotation: Annotation) -> bool:
        """Store one annotation; more are always wanted."""
        with self._lock:
            store_annotations(self._database, [annotation])
        return True


def store_annotations(database: Database, new_annotations: Sequence[Annotation]) -> None:
    """Store annotations; write one that the database refuses to a file, with a warning.

    Those of pairs that wait for a batch are not stored.

    Replies and programs are untrusted input: a value that no column accepts must fail neither the
    other annotations of a batch nor the run.

    Raises:
        StoreError: The database cannot be opened.
    """
    new_annotations = [item for item in new_annotations if item.status != "pending"]
    if not new_annotations:
        return
    try:
        annotations.add_annotations(database, new_annotations)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - DuckDB's binding raises many
        if len(new_annotations) == 1:
            _write_refused(database, new_annotations[0], error)
            return
        for annotation in new_annotations:
            store_annotations(database, [annotation])


def _write_refused(database: Database, annotation: Annotation, error: Exception) -> None:
    file = _refused_file(database, annotation)
    with atomic_write(file) as partial:  # JSON in ASCII can have lone surrogates
        partial.write_text(
            json.dumps(annotation.model_dump(by_alias=True), default=str, indent=1), "ascii"
        )
    run_logger(__name__).warning(
        "the store refused the annotation of query %s, code %s (%s: %s); it is in %s, and the pair "
        "will be judged again", *annotation.key, type(error).__name__, error, file,
    )  # fmt: skip


def _refused_file(database: Database, annotation: Annotation) -> Path:
    name = f"{annotation.query_id}-{annotation.code_id}-{annotation.recipe_id}.json"
    return database.settings.refused / name
