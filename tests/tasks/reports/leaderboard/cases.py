"""A benchmark of forty queries and three methods of different merit."""

import numpy as np

from infra.records import Code, Label, Query
from infra.settings.sections import USUAL_METRICS
from tasks.benchmarks import Benchmark, qrels_of
from tasks.benchmarks.runs import Rankings
from tasks.metrics import evaluate
from tasks.reports.leaderboard import (
    Leaderboard,
    MethodScores,
    build_leaderboard,
    judged_share,
)
from tests.fakes.benchmarks import people_benchmark, rank_scores


def benchmark() -> Benchmark:
    codes = tuple(Code.of(f"def f{n}():\n    return {n}") for n in range(60))
    queries = tuple(Query.of(f"return <b>{n}</b>") for n in range(40))
    labels = tuple(
        Label(
            query_id=query.query_id,
            code_id=codes[(n + step) % 60].code_id,
            origin="people",
            relevance=float(step < 2),
        )
        for n, query in enumerate(queries)
        for step in range(4)
    )
    update = {"queries": queries, "codes": codes, "labels": labels}
    return people_benchmark().model_copy(update=update)


def run(of: Benchmark, noise: float) -> Rankings:
    """Return rankings that are the worse the more noise is in them."""
    judged = qrels_of(of.labels)
    codes = sorted(code.code_id for code in of.codes)
    queries = sorted(judged)
    truth = np.array([[judged[query].get(code, 0.0) for code in codes] for query in queries])
    drawn = np.random.default_rng(1).normal(scale=noise, size=truth.shape)
    return rank_scores(queries, codes, truth + drawn, 50)


RUNS = {"good": 0.2, "fair": 0.8, "same as fair": 0.8, "bad": 9.0}


def scores(of: Benchmark) -> list[MethodScores]:
    judged = qrels_of(of.labels)
    return [
        MethodScores(
            method=name,
            values=evaluate(run(of, noise), judged, USUAL_METRICS),
            judged=judged_share(run(of, noise), judged),
        )
        for name, noise in RUNS.items()
    ]


def leaderboard() -> Leaderboard:
    of = benchmark()
    return build_leaderboard(of, "fingerprint", scores(of), USUAL_METRICS, 50)
