"""CoSQA's 500 development queries over 6,267 functions: scores, intervals, marks, other judges.

    COSQA_DATA=<folder with CoSQA's files> python -m tests.bench.bench_cosqa [--without-encoder]

Prints the leaderboard of the lexical methods, MiniLM and their fusion, then how far the same runs'
means by BEIR's evaluator and by mteb are from ours, where these are installed (they round to five
places).
"""

import argparse
import importlib
import importlib.util
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from infra.settings import SourceSettings
from infra.store.vectors import Vectors
from tasks.benchmarks import Benchmark, benchmark_fingerprint, qrels_of
from tasks.benchmarks.mteb import ReplayedRun, mteb_task
from tasks.encoders import Kind, encoders
from tasks.metrics import evaluate, mean
from tasks.ranking.methods import Ranker
from tasks.reports.leaderboard import (
    METRICS,
    RECALL_DEPTHS,
    MethodScores,
    build_leaderboard,
    judged_share,
    leaderboard_document,
)
from tasks.reports.render import markdown_page
from tasks.retrievers import Rankings
from tasks.search.pairs import Block, in_memory
from tasks.search.scores import Positions
from tasks.sources import open_source
from tests.bench.measure import cosqa_data
from tests.tasks.sources.reading import read_whole

LEXICAL = ("bag-of-words", "tf-idf", "bm25")
WITH_ENCODER = ("minilm", "bm25+minilm")
DEPTH = 1000
ROUNDED = {"NDCG@10": "ndcg_at_10", "MAP@100": "map_at_100", "Recall@10": "recall_at_10"}
Qrels = Mapping[str, Mapping[str, float]]


def development_benchmark(folder: Path) -> Benchmark:
    """Return CoSQA's development queries over its code base."""
    collected = read_whole(open_source(SourceSettings(name="cosqa", path=folder)))["cosqa"]
    return Benchmark(
        name="cosqa-dev-500",
        label_origin=collected.labels[0].origin,
        queries=collected.queries,
        codes=collected.codes,
        labels=collected.labels,
        sources=(collected.info,),
    )


class Embedded:
    """A benchmark's vectors, made once for each encoder."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._made: dict[str, tuple[Vectors, Vectors]] = {}

    def queries(self, encoder: str, ids: Sequence[str]) -> Vectors:
        """Return the queries' vectors."""
        texts: dict[str, str] = {query.query_id: query.text for query in self._benchmark.queries}
        row_of = {query: row for row, query in enumerate(texts)}
        rows: Vectors = self._vectors(encoder)[0][[row_of[query] for query in ids]]
        return rows

    def code_blocks(
        self, encoders: Sequence[str], wanted: Positions | None = None
    ) -> Iterator[Block]:
        """Yield the codes' vectors, in the order of their ids."""
        return in_memory({name: self._vectors(name)[1] for name in encoders})(wanted)

    def _vectors(self, encoder: str) -> tuple[Vectors, Vectors]:
        if encoder not in self._made:
            model = encoders.get(encoder)()
            codes = sorted(self._benchmark.codes, key=lambda code: code.code_id)

            def embed(texts: Sequence[str], kind: Kind) -> Vectors:
                return model.encode(texts, kind, batch_size=0)

            self._made[encoder] = (
                embed([query.text for query in self._benchmark.queries], "query"),
                embed([code.text for code in codes], "code"),
            )
        return self._made[encoder]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-encoder", action="store_true")
    methods = LEXICAL if parser.parse_args().without_encoder else LEXICAL + WITH_ENCODER
    warnings.simplefilter("ignore")
    benchmark = development_benchmark(cosqa_data())
    qrels = qrels_of(benchmark.labels)
    ranker = Ranker(benchmark.queries, benchmark.codes, Embedded(benchmark))
    runs = {}
    for method in methods:
        started = time.perf_counter()
        runs[method] = ranker.rank(method, DEPTH)
        print(f"{method}: ranked in {time.perf_counter() - started:.1f} s")
    print(table(benchmark, runs, qrels))
    for method, rankings in runs.items():
        print(f"{method}: {other_judges(benchmark, rankings, qrels)}")


def table(benchmark: Benchmark, runs: Mapping[str, Rankings], qrels: Qrels) -> str:
    """Return the leaderboard."""
    names = dict.fromkeys([*METRICS, *(f"Recall@{depth}" for depth in RECALL_DEPTHS)])
    scores = [
        MethodScores(method, evaluate(rankings, qrels, names), judged_share(rankings, qrels))
        for method, rankings in runs.items()
    ]
    board = build_leaderboard(benchmark, benchmark_fingerprint(benchmark), scores, METRICS, DEPTH)
    return markdown_page(leaderboard_document(board))


def other_judges(benchmark: Benchmark, rankings: Rankings, qrels: Qrels) -> str:
    """Return how far the means of other evaluators are from ours, rounded as they round."""
    means = {
        name: round(mean(values.values()), 5)
        for name, values in evaluate(rankings, qrels, ROUNDED).items()
    }
    said = []
    if importlib.util.find_spec("beir"):
        found = by_beir(rankings, qrels)
        said.append(f"BEIR {max(abs(found[name] - means[name]) for name in means):.0e} apart")
    if importlib.util.find_spec("mteb"):
        mteb = importlib.import_module("mteb")
        result = mteb.evaluate(ReplayedRun("a/run", rankings), mteb_task(benchmark), cache=None)
        scores = result.task_results[0].scores["test"][0]
        apart = max(abs(scores[theirs] - means[name]) for name, theirs in ROUNDED.items())
        said.append(f"mteb {apart:.0e} apart")
    return ", ".join(said) or "no other evaluator is installed"


def by_beir(rankings: Rankings, qrels: Qrels) -> dict[str, float]:
    """Return the means of BEIR's own evaluator."""
    evaluator = importlib.import_module("beir.retrieval.evaluation").EvaluateRetrieval
    run: dict[str, dict[str, float]] = {query: {} for query in qrels}
    for query, code, _ in rankings.rows():
        run[query][code] = float(rankings.depth - len(run[query]))
    judged = {query: {c: int(r) for c, r in of.items()} for query, of in qrels.items()}
    tables = evaluator.evaluate(judged, run, [10, 100])
    return {name: value for each in tables for name, value in each.items()}


if __name__ == "__main__":
    main()
