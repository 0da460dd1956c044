"""Where annotations go when they are made: the protocol, and the sink that is the store."""

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
    """Takes annotations: `StoreSink`, or `tasks.runtime.mailbox.RayAnnotationQueue` on a worker."""

    def put(self, annotation: Annotation) -> bool:
        """Take one annotation; return whether more are wanted."""
        ...


class StoreSink:
    """Stores each annotation as it comes, from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()  # DuckDB opens one file in one thread of a process at a time

    def put(self, annotation: Annotation) -> bool:
        """Store one annotation; more are always wanted."""
        with self._lock:
            store_annotations(self._database, [annotation])
        return True


def store_annotations(database: Database, made: Sequence[Annotation]) -> None:
    """Store annotations; one that the database refuses is kept as a file, with a warning.

    Replies and programs come from outside: one value that no column takes must cost neither the
    other annotations of a batch nor the run.

    Raises:
        StoreError: The database cannot be opened, whatever the annotations are.
    """
    try:
        annotations.add_annotations(database, made)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the binding makes of a value
        if len(made) == 1:
            _keep_refused(database, made[0], error)
            return
        for annotation in made:
            store_annotations(database, [annotation])


def _keep_refused(database: Database, annotation: Annotation, error: Exception) -> None:
    file = _refused_file(database, annotation)
    with atomic_write(file) as partial:  # JSON in ASCII takes also what UTF-8 does not
        partial.write_text(
            json.dumps(annotation.model_dump(by_alias=True), default=str, indent=1), "ascii"
        )
    run_logger(__name__).warning(
        "the store refused the annotation of query %s, code %s (%s: %s); it is kept in %s, and the "
        "pair will be judged again", *annotation.key, type(error).__name__, error, file,
    )  # fmt: skip


def _refused_file(database: Database, annotation: Annotation) -> Path:
    name = f"{annotation.query_id}-{annotation.code_id}-{annotation.recipe_id}.json"
    return database.settings.refused / name
