"""The writing of annotations with their model calls and executions, each pair once."""

import json
from collections.abc import Mapping, Sequence

import duckdb

from infra.errors import StoreError
from infra.records import Annotation, Execution
from infra.store.database import Database, Transaction

PAIR = ("query_id", "code_id", "recipe_id")
_Key = tuple[str, str, str]
_FILE_FAULTS = (duckdb.OperationalError, duckdb.InternalError, duckdb.FatalException)


def add_annotations(database: Database, annotations: Sequence[Annotation]) -> None:
    """Store annotations with their evidence; each replaces what is stored of its pair.

    No key of the tables keeps a pair from being stored twice, this does: nothing else may write to
    them. Of several annotations of one pair the last is stored.

    Raises:
        DiskFullError: The disk is full; nothing was stored.
        StoreError: The file cannot be written for another reason; nothing was stored.
        Exception: A value that no column accepts, by DuckDB, Arrow or Python.
    """
    try:
        _add(database, annotations)
    except _FILE_FAULTS as error:
        raise StoreError(
            f"{database.settings.database} cannot be written: {error}; nothing of the last batch "
            "was stored: remove the cause and run the same command again"
        ) from error


def _add(database: Database, annotations: Sequence[Annotation]) -> None:
    annotations = list({(item.key, item.recipe_id): item for item in annotations}.values())
    with database.transaction() as tx:
        failures = _delete_stored(tx, annotations)
        tx.insert("annotations", [_row(item, failures) for item in annotations])
        tx.insert(
            "llm_calls",
            [
                _key(item) | {"ordinal": ordinal} | call.model_dump()
                for item in annotations
                for ordinal, call in enumerate(item.calls)
            ],
        )
        tx.insert(
            "executions",
            [
                _key(item) | {"ordinal": ordinal} | _execution_row(run)
                for item in annotations
                for ordinal, run in enumerate(item.executions)
            ],
        )


def _row(item: Annotation, failures: Mapping[_Key, int]) -> dict[str, object]:
    """Return an annotation's row; one that failed once more counts its tries, others begin anew."""
    before = failures.get((item.query_id, item.code_id, item.recipe_id), 0)
    return item.model_dump(by_alias=True, exclude={"calls", "executions"}) | {
        "met": item.met,
        "tries": before + 1 if item.status == "failed" else 1,
    }


def _execution_row(run: Execution) -> dict[str, object]:
    details = {
        "tests": [case.model_dump(exclude_defaults=True) for case in run.result.tests],
        "repairs": [step.model_dump() for step in run.repairs],
    }
    return {
        "requirements": list(run.requirements),
        **run.model_dump(include={"round", "program"}),
        **run.result.model_dump(exclude={"tests"}),
        "oracle": run.oracle and run.oracle.model_dump_json(),
        "details": json.dumps(details),
    }


def _key(item: Annotation) -> dict[str, object]:
    return {name: getattr(item, name) for name in PAIR}


def _delete_stored(tx: Transaction, annotations: Sequence[Annotation]) -> dict[_Key, int]:
    """Delete what is stored under the keys of annotations; return how often which had failed.

    In most commits there is nothing. One search for the keys spares each table's search for rows
    to delete.
    """
    keys = {name: [getattr(item, name) for item in annotations] for name in PAIR}
    with tx.table("incoming_keys", keys):
        stored = tx.rows(
            "SELECT query_id, code_id, recipe_id, "
            "CASE WHEN status = 'failed' THEN coalesce(tries, 1) ELSE 0 END FROM annotations "
            "SEMI JOIN incoming_keys USING (query_id, code_id, recipe_id)"
        )
    if not stored:
        return {}
    columns = {name: [row[place] for row in stored] for place, name in enumerate(PAIR)}
    with tx.table("deleted", columns):
        for table in ("annotations", "llm_calls", "executions"):
            tx.execute(
                f"DELETE FROM {table} WHERE (query_id, code_id, recipe_id) IN "  # noqa: S608
                "(SELECT (query_id, code_id, recipe_id) FROM deleted)"
            )
    return {(str(row[0]), str(row[1]), str(row[2])): int(str(row[3])) for row in stored}
