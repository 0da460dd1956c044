"""Retention: what of a store is old and needed by no present label, and its removal.

Labels that stand are those of the recipe last in use that has given the pair a label, by the
coverage of each collection (`infra.store.standing`). An annotation goes only where the pair keeps a
label that stands before it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import NamedTuple

import pyarrow as pa

from infra.settings import RetentionSettings
from infra.store.candidates import CANDIDATES_OF_COLLECTIONS
from infra.store.coverage import Coverage
from infra.store.database import Database, Transaction

_SCHEMA = pa.schema(
    {
        "collection": pa.string(), "recipe_id": pa.string(), "met": pa.string(),
        "number": pa.int32(), "round": pa.int32(), "rounds": pa.int32(),
    }
)  # fmt: skip
_PAIR = "query_id, code_id, recipe_id"
# One row for each annotation that counts for a collection: in which set of rounds, and whether
# another set stands before it, whatever support an export asks for: by votes of the same grade.
_COUNTED = f"""
    CREATE TEMP TABLE counted AS
    WITH pairs AS (
        SELECT DISTINCT collection, query_id, code_id FROM {CANDIDATES_OF_COLLECTIONS}
    ), judged AS (
        SELECT collection, {_PAIR}, number, round, rounds, label, grade, annotated_at
        FROM annotations
        JOIN pairs USING (query_id, code_id) JOIN covered USING (collection, recipe_id, met)
        WHERE status <> 'failed'
    ), standing AS (
        SELECT collection, query_id, code_id, grade, number FROM judged
        GROUP BY collection, query_id, code_id, grade, number, rounds
        HAVING 2 * count(DISTINCT round) FILTER (label = 1) > rounds
            OR 2 * count(DISTINCT round) FILTER (label = 0) > rounds
    )
    SELECT judged.*, EXISTS (
        SELECT 1 FROM standing AS s WHERE s.collection = judged.collection
        AND s.query_id = judged.query_id AND s.code_id = judged.code_id
        AND (s.grade = judged.grade OR judged.label IS NULL) AND s.number < judged.number
    ) AS behind FROM judged
"""  # noqa: S608 - literals only
_SUPERSEDED = f"""
    CREATE TEMP TABLE superseded AS
    SELECT {_PAIR} FROM counted GROUP BY ALL HAVING bool_and(behind)
"""  # noqa: S608 - column names only
_PUBLISHED = f"""
    CREATE TEMP TABLE published AS
    SELECT DISTINCT {_PAIR} FROM (
        SELECT {_PAIR}, contains(label_origin, recipe_id) OR row_number() OVER (
            PARTITION BY benchmark_id, query_id, code_id, round ORDER BY annotated_at DESC) = 1
            AS stood
        FROM counted JOIN benchmarks USING (collection) WHERE annotated_at <= published_at
    ) WHERE stood
"""  # noqa: S608 - column names only
_KEPT_WHOLE = f"""
    CREATE TEMP TABLE kept_whole AS
    SELECT {_PAIR} FROM annotations ANTI JOIN superseded USING ({_PAIR}) WHERE $current
    UNION SELECT {_PAIR} FROM published WHERE $published
"""  # noqa: S608 - column names only
# Each collection with its searches, and the time of the last of those that name it: another one's
# may have found some of its pairs. Where none names it, it is the last of all.
_SEARCHED = f"""
    CREATE TEMP TABLE searched AS
    SELECT collection, search_id, is_named, created_at, coalesce(
        max(created_at) FILTER (is_named) OVER (PARTITION BY collection),
        max(created_at) OVER (PARTITION BY collection)) AS last
    FROM (
        SELECT collection, search_id, bool_or(is_named) AS is_named FROM (
            SELECT collection, search_id, true AS is_named FROM searches
            UNION SELECT collection, search_id, false FROM {CANDIDATES_OF_COLLECTIONS}
        ) GROUP BY collection, search_id
    ) JOIN (SELECT search_id, created_at FROM searches WHERE NOT pool) USING (search_id)
"""  # noqa: S608 - literals only
_TABLES = ("searched", "kept_whole", "published", "superseded", "counted")


class Found(NamedTuple):
    """What is to go: rows and their bytes, about."""

    what: str
    rows: int
    size: int


class CollectionCoverage(NamedTuple):
    """Which annotations count for a collection."""

    collection: str
    coverage: Coverage


class Retention:
    """What is old in a store's database, and its removal.

    Args:
        database: The store.
        settings: How long what is kept.
        now: The time from which days are counted back.
        coverages: Of all collections with labels by agents.
    """

    def __init__(
        self,
        database: Database,
        settings: RetentionSettings,
        now: datetime,
        coverages: Sequence[CollectionCoverage],
    ) -> None:
        self._database = database
        self._settings = settings
        self._now = now
        self._coverages = coverages

    def find(self) -> list[Found]:
        """Return what would be removed."""
        with self._marked() as tx:
            return [
                Found(what, *_counted(tx, table, size, where))
                for what, table, size, where in self._selections()
            ]

    def remove(self) -> None:
        """Remove what `find` returns, in one transaction."""
        with self._marked() as tx:
            (_, _, _, outputs), (_, _, _, annotations), (_, _, _, searches) = self._selections()
            tx.execute(f"UPDATE executions SET stdout = '', stderr = '' WHERE {outputs}")  # noqa: S608
            tx.execute(
                f"CREATE TEMP TABLE gone AS SELECT {_PAIR} FROM annotations WHERE {annotations}"  # noqa: S608
            )
            for table in ("annotations", "llm_calls", "executions", "code_behaviours"):
                tx.execute(
                    f"DELETE FROM {table} WHERE ({_PAIR}) IN (SELECT ({_PAIR}) FROM gone)"  # noqa: S608
                )
            tx.execute("DROP TABLE gone")
            tx.execute(f"DELETE FROM candidates WHERE {searches}")  # noqa: S608
            tx.execute(f"DELETE FROM searches WHERE {searches}")  # noqa: S608

    def needed_replies(self) -> list[str]:
        """Return the keys of the replies that annotations rest on which are kept whole."""
        with self._marked() as tx:
            rows = tx.rows(
                f"SELECT DISTINCT prompt_digest FROM llm_calls JOIN kept_whole USING ({_PAIR}) "  # noqa: S608
                "WHERE regexp_full_match(prompt_digest, '([0-9a-f]{2})+')"
            )
        return sorted(str(key) for (key,) in rows)

    def _selections(self) -> tuple[tuple[str, str, str, str], ...]:
        """Return name, table, expression of a row's bytes, and condition of what is to go."""
        settings = self._settings
        whole = f"({_PAIR}) NOT IN (SELECT ({_PAIR}) FROM kept_whole)"  # noqa: S608
        outputs = (
            f"(stdout <> '' OR stderr <> '') AND {whole} AND ({_PAIR}) IN "  # noqa: S608
            f"(SELECT ({_PAIR}) FROM annotations WHERE {self._older(settings.outputs_days)})"
        )
        superseded = (
            f"{self._older(settings.superseded_days)} AND {whole} "  # noqa: S608
            f"AND ({_PAIR}) IN (SELECT ({_PAIR}) FROM superseded)"
        )
        searches = (
            "search_id IN (SELECT search_id FROM searched JOIN collections USING (collection) "  # noqa: S608
            "WHERE is_named OR for_agents GROUP BY search_id HAVING bool_and("
            "created_at < collected_at AND last >= collected_at "
            f"AND {self._older(settings.searches_days, 'created_at')}))"
        )
        texts = "length(path) + length(reason) + 200"
        return (
            ("outputs of programs", "executions", "length(stdout) + length(stderr)", outputs),
            ("superseded annotations", "annotations", texts, superseded),
            ("candidates of former searches", "candidates", "length(by_encoder) + 80", searches),
        )

    def _older(self, days: int | None, column: str = "annotated_at") -> str:
        if days is None:
            return "false"
        return f"{column} < TIMESTAMPTZ '{self._now - timedelta(days=days)}'"

    @contextmanager
    def _marked(self) -> Iterator[Transaction]:
        """Yield a transaction with temporary tables of what is superseded and what is kept."""
        rows = [
            {"collection": name, "rounds": len(coverage.sets[item.number]), **item._asdict()}
            for name, coverage in self._coverages
            for item in coverage.covered
        ]
        protect = self._settings.protect
        covered = pa.Table.from_pylist(rows, schema=_SCHEMA)
        with self._database.transaction() as tx:
            with tx.stream("covered", covered):
                for statement in (_COUNTED, _SUPERSEDED, _PUBLISHED, _SEARCHED):
                    tx.execute(statement)
                tx.connection.execute(
                    _KEPT_WHOLE,
                    {"current": "current" in protect, "published": "published" in protect},
                )
            yield tx
            for table in _TABLES:
                tx.execute(f"DROP TABLE {table}")


def _counted(tx: Transaction, table: str, size: str, where: str) -> tuple[int, int]:
    [(rows, total)] = tx.rows(
        f"SELECT count(*), coalesce(sum({size}), 0)::BIGINT FROM {table} WHERE {where}"  # noqa: S608
    )
    return int(str(rows)), int(str(total))
