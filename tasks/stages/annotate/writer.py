"""Annotations on their way into the store, of which it may refuse some."""

from collections.abc import Sequence

from agents.committee.algorithm import AnnotationPath
from infra.errors import DiskFullError, StoreError
from infra.records import Annotation
from infra.store import Database, annotations
from tasks.runtime.run_logger import run_logger


def store_annotations(database: Database, new_annotations: Sequence[Annotation]) -> None:
    """Store annotations; in place of one that the database refuses, that its pair failed.

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
        if len(new_annotations) > 1:
            middle = len(new_annotations) // 2
            for half in (new_annotations[:middle], new_annotations[middle:]):
                store_annotations(database, half)
            return
        refused = new_annotations[0]
        reason = f"the store refused the annotation: {type(error).__name__}"
        run_logger(__name__).warning(
            "%s; query %s, code %s counts as failed: %s", reason, *refused.key, error
        )
        failure = Annotation(
            query_id=refused.query_id,
            code_id=refused.code_id,
            recipe_id=refused.recipe_id,
            status="failed",
            path=AnnotationPath.INTERNAL_ERROR,
            reason=reason,
        )
        annotations.add_annotations(database, [failure])
