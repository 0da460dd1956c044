"""Annotations on their way into the store, of which it may refuse some."""

import json
from collections.abc import Sequence

from agents.committee.paths import AnnotationPath
from infra.atomic import atomic_write
from infra.errors import DiskFullError, StoreError
from infra.records import Annotation
from infra.store import Database, annotations
from tasks.runtime.run_logger import run_logger


def store_annotations(database: Database, new_annotations: Sequence[Annotation]) -> None:
    """Store annotations; one that the database refuses becomes a file and a row that it failed.

    Replies and programs are untrusted input: a value that no column accepts must fail neither the
    other annotations of a batch nor the run.

    Raises:
        StoreError: The database cannot be opened or written; nothing of the batch is stored.
    """
    try:
        annotations.add_annotations(database, new_annotations)
    except (StoreError, DiskFullError):
        raise
    except Exception as error:  # noqa: BLE001 - DuckDB's binding raises many
        if len(new_annotations) == 1:
            _write_refused(database, new_annotations[0], error)
            return
        middle = len(new_annotations) // 2
        for half in (new_annotations[:middle], new_annotations[middle:]):
            store_annotations(database, half)


def _write_refused(database: Database, annotation: Annotation, error: Exception) -> None:
    file = database.settings.refused / f"{'-'.join(annotation.key)}-{annotation.recipe_id}.json"
    with atomic_write(file) as partial:  # JSON in ASCII can have lone surrogates
        partial.write_text(json.dumps(annotation.model_dump(), default=str, indent=1), "ascii")
    run_logger(__name__).warning(
        "the store refused the annotation of query %s, code %s (%s: %s); it is in %s, and the pair "
        "counts as failed", *annotation.key, type(error).__name__, error, file,
    )  # fmt: skip
    _store_failure(database, annotation, f"the store refused the annotation, which is in {file}")


def _store_failure(database: Database, annotation: Annotation, reason: str) -> None:
    """Store that a pair failed, without the evidence, so that it is not due for ever.

    Where the store refuses even that, as for an id that it cannot hold, the file is all there is.
    """
    failure = Annotation(
        query_id=annotation.query_id,
        code_id=annotation.code_id,
        recipe_id=annotation.recipe_id,
        status="failed",
        path=AnnotationPath.INTERNAL_ERROR,
        reason=reason,
    )
    try:
        annotations.add_annotations(database, [failure])
    except (StoreError, DiskFullError):
        raise
    except Exception:  # noqa: BLE001 - DuckDB's binding raises many
        run_logger(__name__).exception("nor can its failure be stored")
