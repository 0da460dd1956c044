"""Tables of the publish and evaluate stages, and of the stages' runs."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from infra.ids import BenchmarkId
from infra.machine import used_resources
from infra.records import Record
from infra.store.database import Database


class Published(Record):
    """An exported benchmark: its id, the origin of its labels, and its folder."""

    benchmark_id: BenchmarkId
    name: str
    collection: str
    label_origin: str
    folder: str


class StageRun(Record):
    """A stage's run that did new work.

    Attributes:
        collection: What it worked on.
        stage: Name of the stage, with that of its encoder, method or benchmark.
        items: Number of items newly processed.
        seconds: Wall time.
        codes: Number of codes that each item was compared with; None: with none.
        cores: Cores that it had. What of the next three is None is filled in when the run is
            stored, with that of the machine or of the Ray cluster that the flow had joined.
        gpus: Its GPUs.
        peak_memory_mb: Most resident memory of the flow's process from its start until then.
    """

    collection: str
    stage: str
    items: int
    seconds: float
    codes: int | None = None
    cores: int | None = None
    gpus: int | None = None
    peak_memory_mb: float | None = None


def record_benchmark(database: Database, published: Published) -> None:
    """Store an export; an earlier record of the same content is replaced."""
    with database.transaction() as tx:
        tx.execute("DELETE FROM benchmarks WHERE benchmark_id = ?", [published.benchmark_id])
        tx.insert("benchmarks", [published.model_dump()])


def find_benchmark(database: Database, benchmark_id: BenchmarkId) -> Published | None:
    """Return the export with this id, or None."""
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT * EXCLUDE (published_at) FROM benchmarks WHERE benchmark_id = ?",
            [benchmark_id],
        )
    return Published.model_validate(rows[0]) if rows else None


def all_benchmarks(database: Database) -> list[Published]:
    """Return the records of all exports, oldest first."""
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT * EXCLUDE (published_at) FROM benchmarks ORDER BY published_at, benchmark_id"
        )
    return [Published.model_validate(row) for row in rows]


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
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT * EXCLUDE (evaluated_at) FROM evaluations "
            "WHERE benchmark_id = ? AND method_key = ?",
            [benchmark_id, method_key],
        )
    return Evaluation.model_validate(rows[0]) if rows else None


def scored_metrics(database: Database, benchmark_id: BenchmarkId, method_key: str) -> list[str]:
    """Return the names of the metrics that an evaluation has scores for."""
    with database.transaction() as tx:
        rows = tx.rows(
            "SELECT DISTINCT metric FROM scores WHERE benchmark_id = ? AND method_key = ?",
            [benchmark_id, method_key],
        )
    return [str(metric) for (metric,) in rows]


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
    with database.transaction() as tx:
        rows = tx.rows(
            "SELECT method, metric, avg(value) FROM scores "
            "JOIN evaluations USING (benchmark_id, method_key) "
            "WHERE benchmark_id = ? AND list_contains(?, method_key) "
            "AND list_contains(?, metric) "
            "GROUP BY method, method_key, metric ORDER BY list_position(?, method_key), metric",
            [benchmark_id, list(method_keys), list(metrics), list(method_keys)],
        )
    means: dict[str, dict[str, float]] = {}
    for method, metric, value in rows:
        means.setdefault(str(method), {})[str(metric)] = float(str(value))
    return means


def count_scored_queries(database: Database, benchmark_id: BenchmarkId) -> int:
    """Return the number of a benchmark's scored queries: those with a relevant code."""
    with database.transaction() as tx:
        return tx.count(
            "SELECT count(DISTINCT query_id) FROM scores WHERE benchmark_id = ?", [benchmark_id]
        )


def record_stage_run(database: Database, run: StageRun) -> None:
    """Store a stage's run, unless it did no work, with the resources that it had."""
    if run.items:
        row = run.model_dump()
        used = used_resources()  # may wait for Ray: the store is not open yet
        row |= {name: value for name, value in used.items() if row[name] is None}
        with database.transaction() as tx:
            tx.insert("stage_runs", [row])


def count_stage_runs(database: Database) -> int:
    """Return the number of stored stage runs, each of which did new work."""
    with database.transaction() as tx:
        return tx.count("SELECT count(*) FROM stage_runs")


def last_stage_runs(database: Database, collection: str) -> list[StageRun]:
    """Return the newest run of each stage that did work for a collection, oldest first."""
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT * EXCLUDE (ended_at) FROM stage_runs WHERE collection = ? "
            "QUALIFY row_number() OVER (PARTITION BY stage ORDER BY ended_at DESC) = 1 "
            "ORDER BY ended_at",
            [collection],
        )
    return [StageRun.model_validate(row) for row in rows]
