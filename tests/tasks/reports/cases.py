"""Benchmarks and leaderboards that tests of reports share."""

from collections.abc import Callable

import numpy as np

from infra.identity import RecipeId
from infra.records import Annotation, Code, Execution, ExecutionResult, Label, Query
from infra.settings.sections import USUAL_METRICS
from tasks.benchmarks import Benchmark, Undecided, qrels_of
from tasks.benchmarks.runs import Rankings
from tasks.metrics import evaluate
from tasks.reports.document import Document
from tasks.reports.estimation import estimation_document
from tasks.reports.kape import kape_document
from tasks.reports.leaderboard import Leaderboard, MethodScores, build_leaderboard, judged_share
from tasks.reports.leaderboard_page import leaderboard_document
from tasks.reports.plan import Amount, Expected, ReasonPlan, RunPlan, plan_document
from tasks.reports.run import report_document
from tasks.statistics.intervals import Interval
from tests.fakes.benchmarks import SOURCE, people_benchmark, rank_scores
from tests.fakes.estimations import estimation_report, kape_report
from tests.fakes.reports import hostile_judgement, hostile_report

QUERIES = tuple(Query.of(f"query number {n}") for n in range(20))
CODES = tuple(Code.of(f"def number_{n}(query):\n    return {n}") for n in range(10))
PAIRS = [(query.query_id, code.code_id) for query in QUERIES for code in CODES]
TURNED, UNDECIDED = {3, 50, 199}, {7}


def version(recipe_id: str, model: str, *, turned: bool) -> Benchmark:
    """Return the 200 pairs as a recipe labels them."""
    labels = {n: int(n % 3 == 0) for n in range(200)}
    undecided = UNDECIDED if turned else set()
    if turned:
        labels |= {n: 1 - labels[n] for n in TURNED}
    return Benchmark(
        name=f"pairs-{recipe_id}",
        label_origin=f"agents:{recipe_id}",
        queries=QUERIES,
        codes=CODES,
        labels=tuple(
            Label(query_id=q, code_id=c, origin=f"agents:{recipe_id}", relevance=labels[n])
            for n, (q, c) in enumerate(PAIRS)
            if n not in undecided
        ),
        sources=(SOURCE,),
        recipe={"model": {"model": model, "temperature": 0}, "algorithm": "1"},
        undecided=tuple(
            Undecided(query_id=PAIRS[n][0], code_id=PAIRS[n][1], reason="unreadable")
            for n in undecided
        ),
        evidence=tuple(
            _evidence(n, recipe_id, labels[n]) for n in range(200) if n not in undecided
        ),
    )


def _evidence(number: int, recipe_id: str, label: int) -> Annotation:
    outcome = ExecutionResult.model_validate({"outcome": "passed" if label else "assertion_failed"})
    query, code = PAIRS[number]
    return Annotation(
        query_id=query,
        code_id=code,
        recipe_id=recipe_id,
        status="labelled",
        label=1 if label else 0,
        decided_by="arbiter",
        path="unclear_passed" if label else "unclear_failed_assertion",
        reason=f"pair {number} <script> under {recipe_id}",
        executions=(Execution(round=0, program="assert True", result=outcome),),
    )


EXPECTED = Expected(
    tokens=Amount(expected=500_000),
    usd=None,
    minutes=Amount(expected=2, interval=Interval(2, 1, 3)),
    basis="measured here",
)
PLAN = RunPlan(
    collection="std<lib>",
    recipe_id=RecipeId("r"),
    model="openai/m",
    configuration="spec",
    candidates=600,
    fresh=188,
    without_code=2,
    gold=12,
    reasons=(
        ReasonPlan(reason="new_queries", pending=40, taken=40),
        ReasonPlan(
            reason="outdated", pending=370, taken=200,
            causes={"prompt of arbiter": 300, "model": 70},
        ),
        ReasonPlan(reason="failed", pending=0, taken=0, not_due=3),
        ReasonPlan(reason="disagreement", pending=2, taken=0),
    ),
    expected=EXPECTED,
    budget_usd=2.0,
)  # fmt: skip

BEFORE = version("r1", "small", turned=False)
AFTER = version("r2", "large", turned=True)


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


# Report → the document in which everything that comes from outside says a text.
REPORTS: dict[str, Callable[[str], Document]] = {
    "run": lambda text: report_document(hostile_report(text)),
    "pair": hostile_judgement,
    "leaderboard": lambda text: leaderboard_document(
        leaderboard().model_copy(update={"benchmark": text, "label_origin": text})
    ),
    "estimate": lambda text: estimation_document(estimation_report(text, "two", note=text)),
    "kape": lambda text: kape_document(kape_report(text)),
    "plan": lambda text: plan_document(PLAN.model_copy(update={"collection": text})),
}
