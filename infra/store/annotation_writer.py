"""The writing of annotations with their model calls and executions, each pair once."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import duckdb

from infra.errors import StoreError
from infra.records import Annotation, Execution
from infra.store.database import Database, Transaction

PAIR = ("query_id", "code_id", "recipe_id")
_Key = tuple[str, str, str]
_FILE_FAULTS = (duckdb.OperationalError, duckdb.InternalError, duckdb.FatalException)


class _Replaced(NamedTuple):
    """What is known of annotations that give way to others of their pairs."""

    failures: dict[_Key, int]  # how often they had failed
    paid: dict[_Key, set[str]]  # prompts of the replies that were paid for


def add_annotations(database: Database, annotations: Sequence[Annotation]) -> None:
    """Store annotations with their evidence; each replaces what is stored of its pair.

    No key of the tables keeps a pair from being stored twice, this does: nothing else may write to
    them. Of several annotations of one pair the last is stored. A cached reply that the annotation
    it replaces had paid for is stored as paid for: the money of a try that failed is not forgotten.

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
        replaced = _delete_stored(tx, annotations)
        tx.insert("annotations", [_row(item, replaced.failures) for item in annotations])
        tx.insert(
            "llm_calls", [row for item in annotations for row in _call_rows(item, replaced.paid)]
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
    before = failures.get(_key_of(item), 0)
    return item.model_dump(by_alias=True, exclude={"calls", "executions"}) | {
        "met": item.met,
        "tries": before + 1 if item.status == "failed" else 1,
    }


def _call_rows(
    item: Annotation, paid_before: Mapping[_Key, set[str]]
) -> Iterator[dict[str, object]]:
    paid = set(paid_before.get(_key_of(item), ()))
    for ordinal, call in enumerate(item.calls):
        cached = call.cached and call.prompt_digest not in paid
        paid.discard(call.prompt_digest)  # once
        yield _key(item) | {"ordinal": ordinal} | call.model_dump() | {"cached": cached}


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


def _key_of(item: Annotation) -> _Key:
    return (item.query_id, item.code_id, item.recipe_id)


def _delete_stored(tx: Transaction, annotations: Sequence[Annotation]) -> _Replaced:
    """Delete what is stored under the keys of annotations; return what they need to know of it.

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
        return _Replaced({}, {})
    columns = {name: [row[place] for row in stored] for place, name in enumerate(PAIR)}
    with tx.table("deleted", columns):
        paid = tx.rows(
            "SELECT query_id, code_id, recipe_id, list(prompt_digest) FROM llm_calls "
            "SEMI JOIN deleted USING (query_id, code_id, recipe_id) "
            "WHERE NOT cached AND status IN ('ok', 'unreadable') GROUP BY ALL"
        )
        for table in ("annotations", "llm_calls", "executions", "code_behaviours"):
            tx.execute(
                f"DELETE FROM {table} WHERE (query_id, code_id, recipe_id) IN "  # noqa: S608
                "(SELECT (query_id, code_id, recipe_id) FROM deleted)"
            )
    return _Replaced(
        {_stored_key(row): int(str(row[3])) for row in stored},
        {_stored_key(row): set(cast("list[str]", row[3])) for row in paid},
    )


def _stored_key(row: Sequence[object]) -> _Key:
    return (str(row[0]), str(row[1]), str(row[2]))
