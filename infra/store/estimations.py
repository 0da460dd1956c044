"""Table of estimates: figures over queries without labels, each a JSON object under its id."""

import json
from typing import TypeVar

from pydantic import ValidationError

from infra.records import Record
from infra.store.database import Database

Figures = TypeVar("Figures", bound=Record)


class StoredEstimation(Record):
    """Figures and what they are of.

    Attributes:
        estimation_id: Hash of all that the figures depend on.
        kind: What the figures are, such as ``estimate``.
        train: Name of the training pairs.
        test: Name of the queries.
        method: Name of the retrieval method.
        method_key: Its key, which changes with its weights and settings.
        body: The figures.
    """

    estimation_id: str
    kind: str
    train: str
    test: str
    method: str
    method_key: str
    body: dict[str, object]


def save(database: Database, estimation: StoredEstimation) -> None:
    """Store figures in place of earlier ones under the same id."""
    row = estimation.model_dump(exclude={"body"})
    body = json.dumps(estimation.body, ensure_ascii=False)
    with database.transaction() as tx:
        tx.execute("DELETE FROM estimations WHERE estimation_id = ?", [estimation.estimation_id])
        tx.insert("estimations", [{**row, "body": body}])


def load(database: Database, estimation_id: str) -> StoredEstimation | None:
    """Return the figures of that id, None where they are not computed yet."""
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT estimation_id, kind, train, test, method, method_key, body "
            "FROM estimations WHERE estimation_id = ?",
            [estimation_id],
        )
    if not rows:
        return None
    return StoredEstimation.model_validate({**rows[0], "body": json.loads(str(rows[0]["body"]))})


def load_as(database: Database, estimation_id: str, kind: type[Figures]) -> Figures | None:
    """Return the figures of that id as a record.

    None where they are not computed yet, or where another release has stored them in its form.
    """
    stored = load(database, estimation_id)
    try:
        return kind.model_validate(stored.body) if stored else None
    except ValidationError:
        return None
