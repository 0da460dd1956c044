"""Table of stability audits, and the labels that they compare."""

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from infra.ids import RecipeId
from infra.records import Record
from infra.store.database import Database
from infra.store.labels import standing
from infra.store.pending import Selection, classified, write_keys


class Sample(NamedTuple):
    """A random sample of labelled pairs: its size, its seed, and the recipe that judges it."""

    pairs: int
    seed: str
    audit_recipe_id: RecipeId


class StoredAudit(Record):
    """An audit: pairs judged again, and how far the new labels are those that stood.

    Attributes:
        audit_id: Its id.
        collection: Whose pairs they are.
        recipe_id: Whose labels were audited.
        audit_recipe_id: The recipe that judged them again.
        pairs: Pairs with a label by both.
        alpha: Krippendorff's for nominal data; None where all labels are equal.
        low: Lower end of its 95% interval.
        high: Upper end.
        audited_at: When it ended.
    """

    audit_id: str
    collection: str
    recipe_id: RecipeId
    audit_recipe_id: RecipeId
    pairs: int
    alpha: float | None
    low: float | None
    high: float | None
    audited_at: datetime | None = None


# The labels of those candidates that the audited recipe has finished.
_LABELLED = """
    standing SEMI JOIN (SELECT query_id, code_id FROM classified WHERE reason IS NULL AND readable)
    USING (query_id, code_id)
"""


def write_sample(database: Database, selection: Selection, sample: Sample, file: Path) -> int:
    """Write the keys of an audit's pairs that it has not judged to a file; return their number.

    Equal samples hold equal pairs; those that the audit has judged before come first, so that one
    that was interrupted goes on with its own.
    """
    with classified(database, selection) as tx, standing(tx, selection.labels):
        keys = tx.arrow(
            "WITH done AS (SELECT query_id, code_id, status FROM annotations "  # noqa: S608 - literals only
            "WHERE recipe_id = $audit), chosen AS (SELECT query_id, code_id, status "
            f"FROM {_LABELLED} LEFT JOIN done USING (query_id, code_id) "
            "WHERE relevance IS NOT NULL "
            "ORDER BY status IS NULL, md5(concat_ws(' ', $seed, query_id, code_id)) LIMIT $pairs) "
            "SELECT query_id, code_id FROM chosen WHERE coalesce(status, 'failed') = 'failed' "
            "ORDER BY query_id, code_id",
            {"audit": sample.audit_recipe_id, "seed": sample.seed, "pairs": sample.pairs},
        )
    with database.space():
        return write_keys(keys, file)


def compare_labels(
    database: Database, selection: Selection, audit_recipe_id: RecipeId
) -> dict[tuple[int, int], int]:
    """Return (label that stands, label by the audit) → number of pairs that have both."""
    with classified(database, selection) as tx, standing(tx, selection.labels):
        rows = tx.rows(
            "SELECT relevance::TINYINT, audit.label, count(*) "  # noqa: S608 - literals only
            f"FROM {_LABELLED} JOIN annotations AS audit USING (query_id, code_id) "
            "WHERE relevance IS NOT NULL AND audit.recipe_id = ? AND audit.status = 'labelled' "
            "GROUP BY ALL",
            [audit_recipe_id],
        )
    return {(one, other): number for one, other, number in rows}


def record_audit(database: Database, audit: StoredAudit) -> None:
    """Store an audit; one with its id is replaced."""
    row = audit.model_dump(exclude={"audited_at"})
    with database.transaction() as tx:
        tx.execute("DELETE FROM audits WHERE audit_id = ?", [audit.audit_id])
        tx.insert("audits", [row])


def load_audits(database: Database, collection: str = "") -> list[StoredAudit]:
    """Return the audits of a collection, or of all, oldest first."""
    return database.records(
        StoredAudit,
        "SELECT * FROM audits WHERE ? IN ('', collection) ORDER BY audited_at, rowid",
        [collection],
    )
