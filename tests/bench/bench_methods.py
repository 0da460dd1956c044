"""CoSQA's 500 development queries over 6,267 functions, by every method that can be had offline.

    COSQA_DATA=<folder with CoSQA's files> python -m tests.bench.bench_methods [--folder FOLDER]

The benchmark goes through the product: it is written as a BEIR folder and given to the leaderboard
flow, whose store keeps vectors and runs for a second call. MPNet takes a quarter of an hour of two
cores, once. Prints

- the scores of each method beside those of ir-measures over the same TREC run;
- of each encoder alone and of both together, by the mean of their cosines and by scaled ones, how
  many of CoSQA's own pairs are among the 20 candidates of their query: the reason for averaging.
"""

import argparse
import importlib
import shutil
import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from flows.leaderboard import leaderboard
from flows.runtime.prefect_server import prefect_api
from infra.settings import Settings, load_settings
from infra.store import open_database
from tasks.benchmarks import Benchmark, qrels_of
from tasks.benchmarks.beir import write_beir
from tasks.benchmarks.trec import read_run, run_file
from tasks.metrics import evaluate, mean
from tasks.retrievers import retrievers
from tasks.search.exact import inverse_peaks, search
from tasks.stages.vectors import BenchmarkVectors
from tests.bench.bench_cosqa import development_benchmark
from tests.bench.measure import cosqa_data

ENCODERS = ("minilm", "all-mpnet-base-v2")
METHODS = (
    *retrievers.names(), *ENCODERS, "minilm+all-mpnet-base-v2", "bm25+all-mpnet-base-v2",
)  # fmt: skip
METRICS = {"NDCG@10": "nDCG@10", "MRR": "RR", "MAP": "AP", "Recall@10": "R@10", "Recall@20": "R@20"}
TOP_K = 20
Scores = Mapping[str, Mapping[str, float]]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("cosqa-methods"))
    folder = parser.parse_args().folder
    warnings.simplefilter("ignore")
    benchmark = development_benchmark(cosqa_data())
    shutil.rmtree(folder / "beir", ignore_errors=True)
    write_beir(benchmark, folder / "beir")
    settings = load_settings(
        {
            "store": {"folder": folder / "store"},
            "publish": {"folder": folder / "output"},
            "evaluation": {"methods": METHODS, "metrics": tuple(METRICS)},
            "search": {"encoders": ENCODERS},
        }
    )
    with prefect_api():
        runs = leaderboard(folder / "beir", [], settings).folder
    Console(width=110).print(scores(benchmark, runs), candidates(benchmark, settings))


def scores(benchmark: Benchmark, folder: Path) -> Table:
    """Return the methods' scores, and how far those of ir-measures are from them."""
    table = Table(title="CoSQA dev, 500 queries, 6,267 functions", title_justify="left")
    for column in ("method", *METRICS, "ir-measures, apart at most"):
        table.add_column(column, justify="left" if column == "method" else "right")
    qrels = qrels_of(benchmark.labels)
    for method in METHODS:
        rankings = read_run(run_file(folder, method))
        ours = evaluate(rankings, qrels, tuple(METRICS))
        run: dict[str, dict[str, float]] = {}
        for query, code, score in rankings.rows():
            run.setdefault(query, {})[code] = score
        theirs = by_ir_measures(qrels, run)
        apart = max(
            abs(ours[name][query] - value)
            for name, values in theirs.items()
            for query, value in values.items()
        )
        means = [f"{mean(ours[name].values()):.4f}" for name in METRICS]
        table.add_row(method, *means, f"{apart:.0e}")
    return table


def by_ir_measures(qrels: Scores, run: Scores) -> dict[str, dict[str, float]]:
    """Return metric → query → the score by ir-measures."""
    library = importlib.import_module("ir_measures")
    judged = {query: {c: int(r) for c, r in codes.items()} for query, codes in qrels.items()}
    name_of = {library.parse_measure(theirs): ours for ours, theirs in METRICS.items()}
    found: dict[str, dict[str, float]] = {name: {} for name in METRICS}
    for result in library.iter_calc(list(name_of), judged, run):
        found[name_of[result.measure]][result.query_id] = result.value
    return found


def candidates(benchmark: Benchmark, settings: Settings) -> Table:
    """Return how many of CoSQA's own pairs each encoder and each ensemble has among its top 20."""
    table = Table(title=f"CoSQA's own pairs among the {TOP_K} candidates", title_justify="left")
    for column in ("encoders", "fusion", "recall", "pairs"):
        table.add_column(column, justify="left" if column in ("encoders", "fusion") else "right")
    pairs = {(label.query_id, label.code_id) for label in benchmark.labels if label.relevance}
    vectors = BenchmarkVectors(
        benchmark, open_database(settings.store), settings.encoder, settings.ray
    )
    ids = sorted(query.query_id for query in benchmark.queries)
    codes = np.asarray(sorted(code.code_id for code in benchmark.codes))
    ensembles = [(name,) for name in ENCODERS] + [ENCODERS]
    for names in ensembles:
        queries = {name: vectors.queries(name, ids) for name in names}
        blocks = partial(vectors.code_blocks, names)
        for fusion in ("mean", "scaled") if len(names) > 1 else ("-",):
            weights = inverse_peaks(queries, blocks) if fusion == "scaled" else None
            hits = search(queries, blocks, TOP_K, weights)
            named = zip(ids, codes[hits.positions].tolist(), strict=True)
            found = len(pairs & {(query, code) for query, best in named for code in best})
            row = f"{found / len(pairs):.4f}", f"{found} of {len(pairs)}"
            table.add_row(" + ".join(names), fusion, *row)
    return table


if __name__ == "__main__":
    main()
