"""Table of exports: what the files of each exported folder were made from."""

from pathlib import Path

from infra.identity import digest
from infra.ids import BenchmarkId
from infra.records import Record
from infra.store.coverage import NO_COVERAGE
from infra.store.database import Database
from infra.store.standing import CurrentLabels

_COMPARED = "query_id, code_id, recipe_id, comparison, label, agreed, reason"
_ANNOTATED = "query_id, code_id, recipe_id, status, label, decided_by, grade, annotated_at"


class Export(Record):
    """An exported folder.

    Attributes:
        folder: Its path.
        benchmark_id: The fingerprint of its benchmark.
        stamp: Digest of all that the export depends on.
        files: Digest of the sizes and times of its files.
    """

    folder: str
    benchmark_id: BenchmarkId
    stamp: str
    files: str


def record_export(database: Database, export: Export) -> None:
    """Store what a folder was made from, in place of what it was made from before."""
    with database.transaction() as tx:
        tx.execute("DELETE FROM exports WHERE folder = ?", [export.folder])
        tx.insert("exports", [export.model_dump()])


def find_export(database: Database, folder: Path) -> Export | None:
    """Return what a folder was made from, None where it is not known."""
    with database.transaction() as tx:
        rows = tx.dicts("SELECT * FROM exports WHERE folder = ?", [str(folder)])
    return Export.model_validate(rows[0]) if rows else None


def state_of_labels(
    database: Database, collection: str, labels: CurrentLabels | None = None
) -> str:
    """Return a digest that changes with all from which a collection's labels are made.

    It depends on the time of the collection, and for labels of the agents on what annotations count
    for which recipe, and on the keys, results and times of each row, in any order: of the
    annotations by these recipes and by those that verified its written answers, of their
    behaviours, of the searches' candidates, of the answers, and of what people said of them. A
    count and the newest time would not do: a clock may have been set back.

    Args:
        database: The store.
        collection: The collection.
        labels: The labels of the agents; None for those that came with the source.
    """
    coverage = labels.coverage if labels else NO_COVERAGE
    with database.transaction() as tx:
        [row] = tx.rows(
            "SELECT (SELECT epoch_us(collected_at) FROM collections "  # noqa: S608 - columns named here
            " WHERE collection = $collection), "
            f"(SELECT {_rows('search_id, query_id, code_id, rank')} FROM candidates "
            " WHERE list_contains($searches, search_id)), "
            f"(SELECT {_rows(_ANNOTATED)} FROM annotations "
            " WHERE list_contains($recipes, recipe_id) OR recipe_id IN "
            " (SELECT recipe_id FROM generated_codes WHERE collection = $collection)), "
            f"(SELECT {_rows(_COMPARED)} FROM code_behaviours "
            " WHERE collection = $collection AND list_contains($recipes, recipe_id)), "
            f"(SELECT {_rows('query_id, ordinal, code_id, status, written_at')} "
            " FROM generated_codes "
            " WHERE collection = $collection), "
            f"(SELECT {_rows('query_id, ordinal, person, confirmed, notes, confirmed_at')} "
            " FROM confirmations "
            " WHERE collection = $collection)",
            {
                "collection": collection,
                "searches": list(labels.search_ids if labels else ()),
                "recipes": sorted(coverage.voters),
            },
        )
    return digest(coverage.model_dump_json(), *map(str, row))


def _rows(columns: str) -> str:
    """Return an SQL expression of rows' number and of a hash of these columns in any order."""
    return f"(count(*), sum(hash({columns})::HUGEINT))::VARCHAR"
