"""Tables of exports and evaluations, and of the stages' runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from infra.errors import SettingsError
from infra.identity import BenchmarkId, digest
from infra.records import Record
from infra.settings import StoreSettings
from infra.store.database import Database, open_database, require_store, statements_beside
from infra.store.generated import CONFIRMATIONS
from infra.store.labels import CurrentLabels

_SQL = statements_beside(__file__)
_ANNOTATED = "query_id, code_id, recipe_id, status, label, decided_by, support, annotated_at"


class Export(Record):
    """An exported folder.

    Attributes:
        folder: Its path.
        benchmark_id: The fingerprint of its benchmark.
        input_digest: Digest of all that the export depends on.
        files: Digest of the sizes and times of its files.
    """

    folder: str
    benchmark_id: BenchmarkId
    input_digest: str
    files: str


def record_export(database: Database, export: Export) -> None:
    """Store what a folder was made from, in place of what it was made from before."""
    with database.transaction() as tx:
        tx.execute("DELETE FROM exports WHERE folder = ?", [export.folder])
        tx.insert("exports", [export.model_dump()])


def find_export(database: Database, folder: Path) -> Export | None:
    """Return a folder's origin, None where it is not known."""
    return database.record(Export, "SELECT * FROM exports WHERE folder = ?", [str(folder)])


def state_of_labels(
    database: Database, collection: str, labels: CurrentLabels | None = None
) -> str:
    """Return a digest that changes with all from which a collection's labels are made.

    It depends on the time of the collection, and for labels of the agents on what annotations count
    for which recipe, and on the keys, results and times of each row, in any order: of the
    annotations by these recipes and by those that verified its written answers, of the searches'
    candidates, of the answers, and of what people said of them and of samples, the time aside: who
    reads a sheet again says nothing new. A count and the newest time would not do: a clock may have
    been set back.

    Args:
        database: The store.
        collection: The collection.
        labels: The labels of the agents; None for those that came with the source.
    """
    [row] = database.rows(
        "SELECT (SELECT epoch_us(collected_at) FROM collections "  # noqa: S608 - columns named here
        " WHERE collection = $collection), "
        f"(SELECT {_rows('search_id, query_id, code_id, rank')} FROM candidates "
        " WHERE list_contains($searches, search_id)), "
        f"(SELECT {_rows(_ANNOTATED)} FROM annotations "
        " WHERE list_contains($recipes, recipe_id) OR recipe_id IN "
        " (SELECT recipe_id FROM generated_codes WHERE collection = $collection)), "
        f"(SELECT {_rows('query_id, ordinal, code_id, status, written_at')} "
        " FROM generated_codes "
        " WHERE collection = $collection), "
        f"(SELECT {_rows('origin, query_id, code_id, annotator, phase, relevance, note')} "
        " FROM votes WHERE collection = $collection "
        " AND (origin = $confirmations OR starts_with(origin, 'sample:')))",
        {
            "collection": collection,
            "searches": list(labels.search_ids if labels else ()),
            "recipes": sorted(labels.recipes if labels else ()),
            "confirmations": CONFIRMATIONS,
        },
    )
    return digest(labels.model_dump_json() if labels else "", *map(str, row))


def _rows(columns: str) -> str:
    """Return an SQL expression of rows' number and of a hash of these columns in any order."""
    return f"(count(*), sum(hash({columns})::HUGEINT))::VARCHAR"


class Published(Record):
    """An exported benchmark: its id, the origin of its labels, and its folder."""

    benchmark_id: BenchmarkId
    name: str
    collection: str
    label_origin: str
    folder: str


def record_benchmark(database: Database, published: Published) -> None:
    """Store an export; an earlier record of the same content is replaced."""
    with database.transaction() as tx:
        tx.execute("DELETE FROM benchmarks WHERE benchmark_id = ?", [published.benchmark_id])
        tx.insert("benchmarks", [published.model_dump()])


def only_benchmark(settings: StoreSettings) -> Path:
    """Return the folder of the only export of a store that is there.

    Raises:
        StoreError: There is no store.
        SettingsError: It has no export, or several.
    """
    require_store(settings)
    database = open_database(settings)
    query = "SELECT DISTINCT folder FROM benchmarks ORDER BY folder"
    known = [folder for folder in database.column(query) if Path(folder).is_dir()]
    if len(known) == 1:
        return Path(known[0])
    if known:
        found = ", ".join(known)
    elif not database.column("SELECT 1 FROM collections LIMIT 1"):
        found = "none, since nothing is collected: run `cosqa collect`"
    elif not database.column("SELECT 1 FROM annotations LIMIT 1"):
        found = "none, since no pair is judged: run `cosqa annotate`"
    else:
        found = (
            "none, since its labels are not exported: run `cosqa publish`, which says what is in "
            "the way"
        )
    raise SettingsError(
        f"--benchmark FOLDER says which benchmark is meant: {settings.folder} has {found}"
    )


def find_benchmark(database: Database, benchmark_id: BenchmarkId) -> Published | None:
    """Return the export with this id, or None."""
    query = "SELECT * EXCLUDE (published_at) FROM benchmarks WHERE benchmark_id = ?"
    return database.record(Published, query, [benchmark_id])


class Evaluation(Record):
    """A method's rankings of a benchmark: their ``depth``, and the ``seconds`` that they took."""

    benchmark_id: BenchmarkId
    method: str
    method_key: str
    depth: int
    seconds: float


def find_evaluation(
    database: Database, benchmark_id: BenchmarkId, method_key: str
) -> Evaluation | None:
    """Return a method's stored evaluation on a benchmark, or None."""
    return database.record(
        Evaluation,
        "SELECT * EXCLUDE (evaluated_at) FROM evaluations "
        "WHERE benchmark_id = ? AND method_key = ?",
        [benchmark_id, method_key],
    )


def scored_metrics(database: Database, benchmark_id: BenchmarkId, method_key: str) -> list[str]:
    """Return the names of the metrics that an evaluation has scores for."""
    return database.column(
        "SELECT DISTINCT metric FROM scores WHERE benchmark_id = ? AND method_key = ?",
        [benchmark_id, method_key],
    )


def add_scores(
    database: Database, evaluation: Evaluation, scores: Mapping[str, Mapping[str, float]]
) -> None:
    """Store an evaluation with its scores, metric → query → value, in one transaction."""
    with database.transaction() as tx:
        tx.insert("evaluations", [evaluation.model_dump()], on_conflict="ignore")
        for metric, by_query in scores.items():
            columns = {
                "query_id": pa.array(list(by_query), pa.string()),
                "value": pa.array(list(by_query.values()), pa.float64()),
            }
            with tx.stream("incoming", pa.table(columns)):
                tx.execute(
                    "INSERT OR IGNORE INTO scores BY NAME SELECT ? AS benchmark_id, "
                    "? AS method_key, ? AS metric, query_id, value FROM incoming",
                    [evaluation.benchmark_id, evaluation.method_key, metric],
                )


def mean_scores(
    database: Database,
    benchmark_id: BenchmarkId,
    method_keys: Sequence[str],
    metrics: Sequence[str],
) -> dict[str, dict[str, float]]:
    """Return method → metric → mean over queries, methods in the order of the keys."""
    given = {"benchmark": benchmark_id, "methods": list(method_keys), "metrics": list(metrics)}
    rows = database.rows(_SQL["means"], given)
    means: dict[str, dict[str, float]] = {}
    for method, metric, value in rows:
        means.setdefault(method, {})[metric] = value
    return means


def mean_scores_by_language(
    database: Database, benchmark_id: BenchmarkId, method_keys: Sequence[str], answered: pa.Table
) -> dict[str, tuple[int, dict[str, dict[str, float]]]]:
    """Return language → number of its queries, and metric → method → mean over them.

    Args:
        database: The store.
        benchmark_id: The benchmark.
        method_keys: The methods.
        answered: (query_id, language) of the queries, in each language that code answers them in.
    """
    means: dict[str, tuple[int, dict[str, dict[str, float]]]] = {}
    with database.transaction() as tx, tx.stream("answered", answered):
        given = {"benchmark": benchmark_id, "methods": list(method_keys)}
        rows = tx.rows(_SQL["means_by_language"], given)
    for language, queries, metric, method, value in rows:
        means.setdefault(language, (queries, {}))[1].setdefault(metric, {})[method] = value
    return means


def count_scored_queries(database: Database, benchmark_id: BenchmarkId) -> int:
    """Return the number of a benchmark's scored queries: those with a relevant code."""
    query = "SELECT count(DISTINCT query_id) FROM scores WHERE benchmark_id = ?"
    return database.count(query, [benchmark_id])


class GroupMean(Record):
    """A method's mean in a metric over the queries with so many matches."""

    method: str
    metric: str
    matches: int
    value: float
    queries: int


def group_means(
    database: Database,
    benchmark_id: BenchmarkId,
    method_keys: Sequence[str],
    metrics: Sequence[str],
    matches: Mapping[str, int],
) -> list[GroupMean]:
    """Return the mean scores over the queries of each number of matches.

    Args:
        database: The store.
        benchmark_id: The benchmark.
        method_keys: The methods, in the order of the result.
        metrics: The metrics.
        matches: Query → number of relevant codes.
    """
    given = {"benchmark": benchmark_id, "methods": list(method_keys), "metrics": list(metrics)}
    groups: dict[str, Sequence[object]] = {
        "query_id": list(matches),
        "matches": list(matches.values()),
    }
    with database.transaction() as tx, tx.table("groups", groups):
        return tx.records(GroupMean, _SQL["means_by_matches"], given)
