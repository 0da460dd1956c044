"""What `cosqa store` checks and removes: the database, its rows and files, and what is old.

To add a rule of rows, add it to `rules`: a query for the number of rows that break it, and what to
do. Labels that stand are never removed: an annotation goes only where the pair keeps a label that
stands before it (`infra.store.labels`).
"""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from math import inf
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from infra.disk import OTHER_STORE, is_disk_full, space_on
from infra.errors import StoreError, StoreLockedError, StoreVersionError
from infra.journal import fault_of
from infra.records import Record
from infra.settings import RetentionSettings, StoreSettings
from infra.store.candidates import CANDIDATES_OF_COLLECTIONS
from infra.store.coverage import Coverage
from infra.store.database import (
    Database,
    Transaction,
    connected,
    differences_from_schema,
    identity_in,
    keys_of_tables,
)
from infra.store.vectors import VectorFile

RESTORE = "put a backup in its place: `cosqa store restore FOLDER --force`"
_JUDGE_AGAIN = f"{RESTORE}; what was judged since is derived again from the kept replies"
_COLLECT = "run `cosqa collect --reread`, which stores them again"
_PUBLISH = "run `cosqa publish` again"


class Rule(NamedTuple):
    """A rule: ``broken`` selects the number of rows that break it, ``what`` they are."""

    check: str
    broken: str
    what: str
    advice: str


# What each row of a table names, the column, and the table that must have it.
_REFERENCES = (
    ("queries of collections", "collection_queries", "query_id", "queries", _COLLECT),
    ("codes of collections", "collection_codes", "code_id", "codes", _COLLECT),
    ("queries of labels from sources", "source_labels", "query_id", "queries", _COLLECT),
    ("codes of labels from sources", "source_labels", "code_id", "codes", _COLLECT),
    ("searches of candidates", "candidates", "search_id", "searches", RESTORE),
    ("queries of candidates", "candidates", "query_id", "queries", _COLLECT),
    ("codes of candidates", "candidates", "code_id", "codes", _COLLECT),
    ("queries of annotations", "annotations", "query_id", "queries", _COLLECT),
    ("codes of annotations", "annotations", "code_id", "codes", _COLLECT),
    ("recipes of annotations", "annotations", "recipe_id", "recipes", RESTORE),
    ("recipes in use", "uses", "recipe_id", "recipes", RESTORE),
    ("benchmarks of exports", "exports", "benchmark_id", "benchmarks", _PUBLISH),
)
_USES = "WITH uses AS (SELECT unnest(rounds) AS recipe_id FROM recipe_uses) "
_PAIR = "query_id, code_id, recipe_id"


@cache
def rules() -> tuple[tuple[Rule, ...], ...]:
    """Return all rules in their order, in groups that are checked together."""
    return tuple(_references()), (_all_evidence(), *_evidence_of_each()), tuple(_keys())


def _references() -> Iterator[Rule]:
    for what, table, column, target, advice in _REFERENCES:
        yield Rule(
            f"{what} are known",
            f"{_USES} SELECT count(*) FROM {table} ANTI JOIN {target} USING ({column})",  # noqa: S608
            f"rows of {table} name one that {target} lacks",
            advice,
        )


def _all_evidence() -> Rule:
    return Rule(
        "every annotation has all its evidence",
        "SELECT count(*) FROM annotations LEFT JOIN ("  # noqa: S608
        f"SELECT {_PAIR}, string_agg(DISTINCT role, ',' ORDER BY role) AS found FROM ("
        f"SELECT {_PAIR}, role FROM llm_calls UNION ALL SELECT {_PAIR}, 'box' FROM executions"
        f") GROUP BY ALL) USING ({_PAIR}) WHERE coalesce(found, '') <> coalesce(met, '') "
        "OR (status = 'labelled' AND found IS NULL)",
        "annotations lack calls or executions",
        _JUDGE_AGAIN,
    )


def _evidence_of_each() -> Iterator[Rule]:
    for table in ("llm_calls", "executions"):
        yield Rule(
            f"{table} of each annotation are complete",
            f"SELECT count(*) FROM (SELECT {_PAIR} FROM {table} GROUP BY ALL "  # noqa: S608
            "HAVING min(ordinal) <> 0 OR max(ordinal) + 1 <> count(DISTINCT ordinal))",
            "annotations lack some of them",
            _JUDGE_AGAIN,
        )
        yield Rule(
            f"{table} belong to annotations",
            f"SELECT count(*) FROM {table} ANTI JOIN annotations USING ({_PAIR})",  # noqa: S608
            "of them belong to none",
            _JUDGE_AGAIN,
        )


def _keys() -> Iterator[Rule]:
    for table, columns in sorted(keys_of_tables().items()):
        listed = ", ".join(columns)
        yield Rule(
            f"{table} has each row once",
            f"SELECT count(*) FROM (SELECT 1 FROM {table} GROUP BY {listed} "  # noqa: S608
            "HAVING count(*) > 1)",
            f"values of {listed} come twice",
            RESTORE,
        )


class Finding(Record):
    """What a check has found.

    Attributes:
        check: What should hold.
        problem: In what it does not; "" where it does.
        advice: What to do about it.
        is_fault: Whether something is lost or wrong, not only worth knowing.
    """

    check: str
    problem: str = ""
    advice: str = ""
    is_fault: bool = True


def check_database(settings: StoreSettings, *, thorough: bool) -> Iterator[Finding]:
    """Yield what is found in a store's database, which is not changed.

    The file is open to others between some of the checks.

    Args:
        settings: A store that is there.
        thorough: Whether to read every row, by whose checksums DuckDB sees damage.

    Raises:
        StoreLockedError: Another process has it open: nothing is known of it.
        StoreVersionError: It is of a later release.
        DiskFullError: The disk has no room for what opening it takes.
    """
    with space_on(settings.folder, OTHER_STORE):
        yield from _check(settings, thorough=thorough)


def _check(settings: StoreSettings, *, thorough: bool) -> Iterator[Finding]:
    try:
        with connected(settings) as connection:
            identity_in(connection, settings.database)
            differences = list(differences_from_schema(connection))
    except (StoreError, duckdb.Error) as error:
        yield Finding(check="the database opens", problem=_damage(error), advice=RESTORE)
        return
    yield Finding(check="the database opens")
    yield Finding(
        check="the schema is this release's", problem="; ".join(differences), advice=RESTORE
    )
    if thorough:
        yield _read_all(settings)
    for group in rules():
        with connected(settings) as connection:
            yield from [_check_rule(connection, rule) for rule in group]


def _check_rule(connection: duckdb.DuckDBPyConnection, rule: Rule) -> Finding:
    try:
        row = connection.execute(rule.broken).fetchone()
    except duckdb.Error as error:
        return Finding(check=rule.check, problem=_damage(error), advice=RESTORE)
    number = row[0] if row else 0
    problem = f"{number:,} {rule.what}" if number else ""
    return Finding(check=rule.check, problem=problem, advice=rule.advice)


def _read_all(settings: StoreSettings) -> Finding:
    """Read all columns of all tables."""
    check = "every row can be read"
    for table in sorted(keys_of_tables() | {"stage_runs": (), "meta": ()}):
        try:
            with connected(settings) as connection:
                connection.execute(f"SELECT bit_xor(hash(t)) FROM {table} AS t").fetchone()  # noqa: S608
        except (StoreError, duckdb.Error) as error:
            return Finding(check=check, problem=f"{table}: {_damage(error)}", advice=RESTORE)
    return Finding(check=check)


def _damage(error: StoreError | duckdb.Error) -> str:
    """Return the damage that an error tells of.

    What tells of a whole store goes on as it is: a backup in its place would help nobody.
    """
    if isinstance(error, StoreLockedError | StoreVersionError) or is_disk_full(error):
        raise error
    return str(error)


_LEFT_AFTER_S = 86_400.0  # what is younger may be of a process that is at work
_LEFTOVERS = (
    "**/.*.partial", "batch-*.jsonl", ".judges-*", "*.duckdb.tmp",
    ".*.duckdb.new*",
)  # fmt: skip
_EMBED_ANEW = (
    "delete the file, where it is there, and run `cosqa collect`, which embeds its texts anew"
)
_PRUNE = "`cosqa store prune` removes them"
_MOST = 5  # that are named


def check_files(settings: StoreSettings, *, thorough: bool) -> Iterator[Finding]:
    """Yield what is found in a store's files.

    Args:
        settings: A store of this release.
        thorough: Whether to read every vector and every reply.
    """
    yield _check_vectors(settings, thorough=thorough)
    yield Finding(
        check=f"{settings.journal.name} can be read",
        problem=fault_of(settings.journal, thorough=thorough),
        advice="restore a backup, which takes over what can be read; an entry that is damaged is "
        "asked and paid for again",
    )
    refused = sorted(settings.refused.glob("*.json"))
    yield Finding(
        check="no annotation was refused",
        problem=f"{settings.refused} has {len(refused):,} files" if refused else "",
        advice="the log of the run says why; `cosqa annotate` judges their pairs again",
        is_fault=False,
    )
    left = leftovers(settings)
    yield Finding(
        check="nothing was left by killed runs",
        problem=_listed([str(path) for path in left]),
        advice=_PRUNE,
        is_fault=False,
    )


def leftovers(settings: StoreSettings) -> list[Path]:
    """Return files and folders that killed runs have left."""
    found = {path for pattern in _LEFTOVERS for path in settings.folder.glob(pattern)}
    limit = time.time() - _LEFT_AFTER_S
    return sorted(path for path in found if _changed_at(path) < limit)


def _changed_at(path: Path) -> float:
    """Return when a file was changed; one that a run has just removed is not old."""
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return inf


def remove(path: Path) -> None:
    """Remove a file or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _check_vectors(settings: StoreSettings, *, thorough: bool) -> Finding:
    with connected(settings) as connection:
        recorded = connection.execute(
            "SELECT file, items, dimension FROM vector_files ORDER BY file"
        ).fetchall()
    problems = [
        f"{file} {problem}"
        for file, items, dimension in recorded
        if (problem := _fault(settings.vectors / file, items, dimension, thorough=thorough))
    ]
    return Finding(
        check=f"{len(recorded):,} files of vectors are as they were recorded",
        problem=_listed(problems),
        advice=_EMBED_ANEW,
    )


def _fault(file: Path, items: int, dimension: int | None, *, thorough: bool) -> str:
    """Return what is wrong with a file of vectors, "" for nothing."""
    if not file.exists():
        return "is missing"
    opened = VectorFile(file)
    try:
        if len(opened.ids) < items:
            return f"has {len(opened.ids):,} ids instead of {items:,}"
        if thorough and opened.rows.shape[0] != len(opened.ids):
            return f"has {opened.rows.shape[0]:,} vectors for {len(opened.ids):,} ids"
        if thorough and dimension not in (None, opened.rows.shape[1]):
            return f"has vectors of {opened.rows.shape[1]} dimensions instead of {dimension}"
    except StoreError as error:
        return f"cannot be read: {error}"
    return ""


def _listed(problems: list[str]) -> str:
    more = f"; and {len(problems) - _MOST:,} more" if len(problems) > _MOST else ""
    return "; ".join(problems[:_MOST]) + more


_SCHEMA = pa.schema(
    {
        "collection": pa.string(), "recipe_id": pa.string(), "met": pa.string(),
        "number": pa.int32(), "round": pa.int32(), "rounds": pa.int32(),
    }
)  # fmt: skip
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
            for table in ("annotations", "llm_calls", "executions"):
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
        return sorted(key for (key,) in rows)

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
                kept = {"current": "current" in protect, "published": "published" in protect}
                tx.execute(_KEPT_WHOLE, kept)
            yield tx
            for table in _TABLES:
                tx.execute(f"DROP TABLE {table}")


def _counted(tx: Transaction, table: str, size: str, where: str) -> tuple[int, int]:
    [(rows, total)] = tx.rows(
        f"SELECT count(*), coalesce(sum({size}), 0)::BIGINT FROM {table} WHERE {where}"  # noqa: S608
    )
    return rows, total
