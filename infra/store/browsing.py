"""The store as pages read it: a copy of its database, or of an exported folder, with its queries.

A writer locks out all readers of a DuckDB file, so pages do not ask it. A `Snapshot` is a
`Database` whose transactions read its own copy: all functions of this folder take it. The copy of a
store has no name on the disk once it is open, so that it is gone with its process.

`index_pairs` makes the table ``pairs`` in the snapshot's memory, a row for each pair with what
lists show, filter and sort by; pages read it in milliseconds.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Literal, NamedTuple

import duckdb
import pyarrow as pa

from infra.errors import PublishError
from infra.identity import BenchmarkId, CodeId, PairKey, QueryId, RecipeId, SampleId
from infra.records import GivenVote, Record
from infra.settings import StoreSettings
from infra.store.database import Database, Parameters, Queries, Transaction, statements_beside
from infra.store.database_file import (
    SCHEMA,
    SCHEMA_VERSION,
    DatabaseFile,
    State,
    quoted,
    require_version,
)
from infra.store.figures import shape_of
from infra.store.labels import CurrentLabels, define_macros
from infra.store.samples import progress
from infra.store.votes import votes_on
from infra.summaries import LabelShape

FACETS = ("status", "label", "support", "path", "disagreement", "model", "recipe", "language")
NONE = "none"  # a facet's value of pairs that have none
_COLUMNS = {"label": "grade"}
SORTS: Mapping[str, str] = {"query": "number", "slowest": "-seconds", "dearest": "-cost"}
PAGE = 50
_TITLE = 160  # characters of a code's first line
_COPY = "cosqa"  # the name of the copy within the connection
_MEMORY_MB = 2_000

_SQL = statements_beside(__file__)


@dataclass(frozen=True, eq=False)
class Snapshot(Database):
    """The database as it was at one moment; its transactions wait for nobody.

    Attributes:
        connection: The connection whose cursors read it.
        state: That of the store's files when they were copied.
        taken_at: A moment before which all commits are in it.
    """

    connection: duckdb.DuckDBPyConnection
    state: State = ()
    taken_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Yield a transaction of the copy; temporary tables end with it."""
        with closing(self.connection.cursor()) as cursor:
            cursor.execute(f"USE {_COPY}")
            yield Transaction(cursor)

    def is_current(self) -> bool:
        """Return True if nothing was committed since the copy was taken."""
        return self.file.state() == self.state


def take_snapshot(settings: StoreSettings) -> Snapshot:
    """Return a copy of a store's database; writers wait while its bytes are copied.

    Raises:
        StoreLockedError: Another process had it open for longer than ``lock_timeout_s``.
        StoreError: The file is no store of this program.
        StoreVersionError: It has another schema version.
    """
    file = DatabaseFile(settings)
    with TemporaryDirectory(dir=settings.folder, prefix="browse-") as folder:
        copy = Path(folder) / file.path.name
        state, taken_at = file.state(), datetime.now(UTC)
        file.copy_bytes_to(copy)
        connection = _connection(settings.folder)
        connection.execute(f"ATTACH {quoted(copy)} AS {_COPY} (TYPE duckdb, READ_ONLY)")
        with closing(connection.cursor()) as cursor:
            cursor.execute(f"USE {_COPY}")
            store_id = require_version(cursor, file.path)
    return Snapshot(settings, store_id, connection, state, taken_at)


def empty_snapshot(folder: Path) -> Snapshot:
    """Return a database in memory without rows, to be filled from an exported folder."""
    connection = _connection(Path(gettempdir()))
    connection.execute(f"ATTACH ':memory:' AS {_COPY}")
    connection.execute(f"USE {_COPY}")
    connection.execute(SCHEMA.read_text(encoding="utf-8"))
    connection.execute("INSERT INTO meta VALUES (?, '')", [SCHEMA_VERSION])
    return Snapshot(StoreSettings(folder=folder), "", connection)


def _connection(folder: Path) -> duckdb.DuckDBPyConnection:
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{_MEMORY_MB}MB",
        "temp_directory": str(folder / "browse.tmp"),
    }
    return duckdb.connect(":memory:", config=config)


def index_pairs(snapshot: Snapshot, labels: Sequence[CurrentLabels]) -> None:
    """Make the table of all pairs: candidates, judged ones, and those that a source labels.

    Args:
        snapshot: The copy of a store.
        labels: Which labels of each collection are current.
    """
    with snapshot.transaction() as tx:
        define_macros(tx)
        tx.execute(_SQL["judged"])
        for each in labels:
            tx.execute(_SQL["current_labels"], {"labels": each.struct})
        for name in ("other_recipes", "labels_of_sources", "unjudged"):
            tx.execute(_SQL[name])
        _index(tx)


def index_exported(
    snapshot: Snapshot,
    name: str,
    tables: Mapping[str, pa.Table],
    recipes: Mapping[str, object],
    evidence: Iterable[pa.RecordBatch],
) -> None:
    """Fill an empty snapshot with an exported benchmark, and make the table of its pairs.

    Args:
        snapshot: The empty snapshot.
        name: The benchmark's.
        tables: ``queries``, ``codes``, ``labels`` and ``undecided`` in their records' columns.
        recipes: Recipe → its body.
        evidence: The agents' annotations with lists of calls and executions.

    Raises:
        PublishError: A value is none that the store could hold.
    """
    bodies = [json.dumps(body) for body in recipes.values()]
    given = {**tables, "recipes": pa.table({"recipe_id": list(recipes), "body": bodies})}
    try:
        with snapshot.transaction() as tx, ExitStack() as stack:
            for table, rows in given.items():
                stack.enter_context(tx.stream(f"given_{table}", rows))
            tx.execute(_SQL["exported"] + _SQL["judged"])
            for batch in evidence:
                with tx.stream("part", pa.Table.from_batches([batch])):
                    tx.execute(_SQL["exported_evidence"])
            tx.execute(_SQL["exported_labels"], {"name": name})
            tx.execute(_SQL["other_recipes"])
            _index(tx)
    except duckdb.Error as error:
        [problem, *_] = str(error).splitlines()
        raise PublishError(f"{snapshot.settings.folder} cannot be shown: {problem}") from error


def _index(tx: Transaction) -> None:
    tx.execute(_SQL["pairs"], {"title": _TITLE})
    tx.execute(
        "CREATE TABLE memory.shown_queries AS SELECT DISTINCT query_id FROM memory.pairs; "
        "DROP TABLE memory.judged"
    )
    for facet in FACETS:
        tx.execute(
            f"CREATE TABLE memory.facet_{facet} AS "  # noqa: S608 - literals only
            f"SELECT coalesce(nullif({_COLUMNS.get(facet, facet)}, ''), '{NONE}') AS value, "
            "count(*) AS pairs FROM memory.pairs GROUP BY value ORDER BY pairs DESC, value"
        )


class Wanted(Record):
    """The filter of a list of pairs.

    Attributes:
        facets: Facet → the value that pairs have.
        query: A part of the query's text, capitals aside.
        code: A part of the code's text, capitals aside.
        sort: One of `SORTS`.
        after: The last pair of the page before: its value in the order, and its number.
    """

    facets: Mapping[str, str] = {}
    query: str = ""
    code: str = ""
    sort: str = "query"
    after: tuple[float, int] | None = None


class ListedPair(Record):
    """A pair as lists show it; ``place`` is its value in the order."""

    number: int
    query_id: QueryId
    code_id: CodeId
    collection: str
    status: str
    label: float | None
    recipe: str
    rank: int | None
    similarity: float | None
    disagreement: str
    support: str
    path: str
    seconds: float | None
    cost: float | None
    model: str
    language: str
    query: str
    title: str
    place: float

    @property
    def key(self) -> PairKey:
        """Ids of query and code."""
        return PairKey(self.query_id, self.code_id)


_CHOSEN = "WHERE number IN (SELECT unnest(?::BIGINT[]))"


class Listed(NamedTuple):
    """A page of a list: its pairs, how many there are in all, and whether more follow."""

    pairs: list[ListedPair]
    total: int
    more: bool


def find_pairs(snapshot: Snapshot, wanted: Wanted, limit: int = PAGE) -> Listed:
    """Return a page of the pairs that are wanted."""
    place = f"coalesce({SORTS[wanted.sort]}, 0)::DOUBLE"
    conditions, parameters = ["true"], dict[str, object]()
    for facet in FACETS:
        if value := wanted.facets.get(facet):
            conditions.append(f"{_COLUMNS.get(facet, facet)} = ${facet}_is")
            parameters[f"{facet}_is"] = "" if value == NONE else value
    for table, column, text in (
        ("queries", "query_row", wanted.query),
        ("codes", "code_row", wanted.code),
    ):
        if text:
            conditions.append(
                f"{column} IN (SELECT rowid FROM {table} "  # noqa: S608 - literals only
                f"WHERE contains(lower(text), lower(${table}_have)))"
            )
            parameters[f"{table}_have"] = text
    where = " AND ".join(conditions)
    with snapshot.transaction() as tx:
        total = tx.count(f"SELECT count(*) FROM memory.pairs WHERE {where}", parameters)  # noqa: S608 - literals only
        if wanted.after:
            where += f" AND ({place} > $place OR {place} = $place AND number > $number)"
            parameters |= {"place": wanted.after[0], "number": wanted.after[1]}
        numbers = tx.rows(
            f"SELECT number FROM memory.pairs WHERE {where} "  # noqa: S608 - literals only
            f"ORDER BY {place}, number LIMIT {limit + 1}",
            parameters,
        )
        chosen = [number for (number,) in numbers]
        found = {pair.number: pair for pair in _listed(tx, _CHOSEN, [chosen], place)}
    listed = [found[number] for number in chosen]
    return Listed(listed[:limit], total, len(listed) > limit)


def _listed(
    queries: Queries, rest: str, parameters: Parameters, place: str = "number::DOUBLE"
) -> list[ListedPair]:
    return queries.records(
        ListedPair,
        f"SELECT * EXCLUDE (code_row, query_row, grade), {place} AS place FROM memory.pairs {rest}",  # noqa: S608 - literals only
        parameters,
    )


@lru_cache(maxsize=1)
def facet_values(snapshot: Snapshot) -> dict[str, dict[str, int]]:
    """Return facet → value → number of pairs, the most frequent values first."""
    listed = "SELECT value, pairs FROM memory.facet_{} LIMIT 100"
    return {facet: dict(snapshot.rows(listed.format(facet))) for facet in FACETS}


@lru_cache(maxsize=1)
def label_shape(snapshot: Snapshot) -> LabelShape:
    """Return what the labels of all pairs say."""
    return shape_of(snapshot, statements=_SQL)


def find_pair(snapshot: Snapshot, key: PairKey) -> ListedPair | None:
    """Return a pair, None where there is none of these ids."""
    return next(iter(_listed(snapshot, "WHERE query_id = ? AND code_id = ?", [*key])), None)


def pairs_beside(snapshot: Snapshot, pair: ListedPair) -> dict[str, ListedPair]:
    """Return the pairs before and after one in the list of all."""
    found = _listed(snapshot, "WHERE abs(number - ?) = 1 ORDER BY number", [pair.number])
    return {"previous" if one.number < pair.number else "next": one for one in found}


def pairs_of_query(snapshot: Snapshot, query_id: QueryId) -> list[ListedPair]:
    """Return a page of a query's pairs, the best candidates first."""
    return _listed(snapshot, f"WHERE query_id = ? ORDER BY number LIMIT {PAGE}", [query_id])


def recipes_of_pair(snapshot: Snapshot, key: PairKey) -> list[RecipeId]:
    """Return the recipes that judged a pair, the newest annotation first."""
    return snapshot.column(
        "SELECT recipe_id FROM annotations WHERE query_id = ? AND code_id = ? "
        "ORDER BY annotated_at DESC, recipe_id",
        [*key],
    )


def people_on(snapshot: Snapshot, key: PairKey, labelled: Collection[str] = ()) -> list[GivenVote]:
    """Return people's votes on a pair; those of a sample when all who label it are done.

    One person's are shown to whoever has labelled the sample too, as others may still begin.
    """
    found = [vote for vote in votes_on(snapshot, key) if vote.kind == "person"]
    samples = {vote.origin: SampleId(vote.origin.removeprefix("sample:")) for vote in found}
    is_open = {}
    for origin, sample_id in samples.items():
        people = progress(snapshot, sample_id)
        is_open[origin] = (len(people) != 1 or sample_id in labelled) and all(
            one.is_done for one in people
        )
    return [vote for vote in found if is_open[vote.origin]]


class Scored(Record):
    """A benchmark's method with its mean in a metric, over so many queries.

    ``half`` is half the width of its 95% interval, the normal one; None where no query differs.
    """

    benchmark_id: BenchmarkId
    benchmark: str
    method: str
    method_key: str
    metric: str
    mean: float
    half: float | None
    queries: int


@lru_cache(maxsize=1)
def scored_methods(snapshot: Snapshot) -> list[Scored]:
    """Return the mean scores of all methods, by benchmark, the metrics of each in their order."""
    return snapshot.records(Scored, _SQL["scored_methods"])


class QueryScore(Record):
    """A query's score by a method, and by another one where two are compared.

    ``has_pairs`` says whether there are candidates of it to be shown.
    """

    query_id: QueryId
    query: str
    has_pairs: bool
    value: float
    other: float | None


Order = Literal["best", "worst"]


def scores_of_queries(
    snapshot: Snapshot,
    benchmark_id: BenchmarkId,
    metric: str,
    methods: tuple[str, str],
    order: Order,
) -> list[QueryScore]:
    """Return a page of queries by what a method scores, or by what it gains on another.

    Args:
        snapshot: The copy.
        benchmark_id: The benchmark.
        metric: The metric.
        methods: Keys of the method and of the one it is compared with, "" for none.
        order: Which come first.
    """
    given = {
        "benchmark": benchmark_id,
        "metric": metric,
        "method": methods[0],
        "other": methods[1],
        "ascending": order == "worst",
        "limit": PAGE,
    }
    return snapshot.records(QueryScore, _SQL["scores_of_queries"], given)
