"""How long a study's figures take at the published size, and how much memory.

    python -m tests.bench.bench_study [--queries 20604] [--top 20] [--codes 132952]

Makes a store of annotated candidates, an export of their labels and the scores of eight methods,
without vectors; then gathers all evidence as `cosqa study` does, and writes the page. The rival
counts the same matches by rank over records, as a loop over candidates and annotations would.
"""

import argparse
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from infra.ids import BenchmarkId, RecipeId, SearchId
from infra.settings import StoreSettings
from infra.store import Database, benchmarks, candidates, figures, open_database
from tasks.reports.render import html_page
from tasks.reports.study import build_report, figures_table, study_document
from tasks.studies import Evidence, Mean
from tasks.studies._files import benchmark_facts, matches_of
from tests.fakes.labels import labels_by
from tests.fakes.studies import CONDITIONS

SEARCH, RECIPE, BENCHMARK = SearchId("s"), RecipeId("r"), BenchmarkId("b")
METHODS = 8

_FILL = f"""
    CREATE TEMP TABLE pairs AS SELECT printf('q%06d', q) AS query_id,
        printf('c%06d', (q * 7919 + r * 104729) % $codes) AS code_id, r AS rank,
        hash(q, r) % 100 AS chance FROM range($queries) a(q), range(1, $top + 1) b(r);
    INSERT OR IGNORE INTO collection_queries SELECT DISTINCT 'c', 0, query_id, '' FROM pairs;
    INSERT OR IGNORE INTO candidates SELECT '{SEARCH}', query_id, code_id, rank, 0.5, '{{}}'
        FROM pairs;
    INSERT OR IGNORE INTO annotations SELECT query_id, code_id, '{RECIPE}', 'labelled',
        (chance * rank < 60)::TINYINT, 'screener',
        CASE WHEN chance < 67 THEN 'clear_match' ELSE 'unclear_passed' END,
        '', false, 'ungated', 1, 1, 1.0, now() FROM pairs;
    INSERT OR IGNORE INTO llm_calls SELECT query_id, code_id, '{RECIPE}', n, 'screener', 1, 'm',
        'd', 'ok', '{{"verdict": "answers"}}', '', 900, 100, 0.0002, 3.0, false
        FROM pairs, range(2) c(n);
    INSERT OR IGNORE INTO executions SELECT query_id, code_id, '{RECIPE}', 0, 0,
        'def test_a(): pass\\ndef test_b(): pass\\n', [], 'passed', '', '', '', 0.2, NULL, '', '',
        2, 2, 2, NULL FROM pairs WHERE chance >= 67;
    INSERT INTO evaluations SELECT '{BENCHMARK}', 'm' || n, 'm' || n, 1000, 1.0, now()
        FROM range({METHODS}) m(n);
    INSERT INTO scores SELECT '{BENCHMARK}', 'm' || n, metric, query_id,
        (hash(query_id, n) % 100) / 100 FROM range({METHODS}) m(n),
        unnest(['MRR', 'MAP', 'MMRR', 'MRR@10', 'MAP@10', 'NDCG@10', 'Recall@10']) x(metric),
        (SELECT DISTINCT query_id FROM pairs);
"""


def fill(folder: Path, queries: int, top: int, codes: int) -> None:
    """Make a store with annotated candidates and scores, and an export beside it."""
    database = open_database(StoreSettings(folder=folder))
    candidates.record_search(database, SEARCH, "c", ["minilm"], top)
    with database.transaction() as tx:
        tx.execute("SET enable_progress_bar = false")
        for statement in filter(str.strip, _FILL.split(";\n")):
            named = {"queries": queries, "top": top, "codes": codes}
            used = {key: value for key, value in named.items() if f"${key}" in statement}
            tx.connection.execute(statement, used)
        labels = tx.connection.sql(
            "SELECT query_id, code_id, label::DOUBLE AS relevance FROM annotations"
        ).to_arrow_table()
    export = folder / "export"
    export.mkdir()
    pq.write_table(labels, export / "labels.parquet")
    names = labels["query_id"].unique()
    pq.write_table(pa.table({"query_id": names}), export / "queries.parquet")
    texts = [f"def f{number}(x):\n" + "    x += 1\n" * 30 for number in range(codes)]
    ids = [f"c{number:06}" for number in range(codes)]
    pq.write_table(pa.table({"code_id": ids, "text": texts}), export / "codes.parquet")


def by_records(database: Database) -> Counter[tuple[int, int | None]]:
    """Count labels by rank in a loop over rows."""
    with database.transaction() as tx:
        ranks = tx.rows("SELECT query_id, code_id, rank FROM candidates")
        labels = tx.rows("SELECT query_id, code_id, label FROM annotations")
    label_of = {(query, code): label for query, code, label in labels}
    return Counter((rank, label_of[query, code]) for query, code, rank in ranks)


def peak_mb() -> float:
    """Return the most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(name: str, work: Callable[[], object]) -> None:
    """Do the work and print its seconds and the process's peak of memory since its start."""
    started = time.perf_counter()
    work()
    print(f"{name:<42}{time.perf_counter() - started:8.2f} s{peak_mb():10,.0f} MB")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=20_604)
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("--codes", type=int, default=132_952)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = (folder, options.queries, options.top, options.codes)
        filling = get_context("spawn").Process(target=fill, args=sizes)
        filling.start()  # in a process of its own, whose memory is not counted
        filling.join()
        database = open_database(StoreSettings(folder=folder))
        export, keys = folder / "export", [f"m{number}" for number in range(METHODS)]
        labels = labels_by(SEARCH, [RECIPE])
        print(f"{options.queries * options.top:,} pairs; before: {peak_mb():,.0f} MB")
        timed("matches by rank", lambda: figures.count_by_rank(database, SEARCH, labels))
        timed("effort", lambda: figures.efforts(database, labels))
        timed("programs", lambda: figures.count_programs(database, labels, ["passed"]))
        timed("counts over the export's labels", lambda: benchmark_facts(export))
        matches = matches_of(export)
        timed(
            f"scores of {METHODS} methods by matches",
            lambda: figures.group_means(database, BENCHMARK, keys, ["MRR", "MAP"], matches),
        )
        timed(
            f"mean scores of {METHODS} methods",
            lambda: benchmarks.mean_scores(database, BENCHMARK, keys, ["MRR@10", "MAP@10"]),
        )
        evidence = Evidence(
            conditions=CONDITIONS,
            benchmark=benchmark_facts(export),
            scores={key: {"MRR": Mean(value=0.5, n=1)} for key in keys},
        )
        report = build_report(evidence, "t", "now")
        timed("page and table", lambda: (html_page(study_document(report)), figures_table(report)))
        timed("rival: matches by rank, row by row", lambda: by_records(database))


if __name__ == "__main__":
    main()
