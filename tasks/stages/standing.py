"""The standing of retrieval methods while labels grow, by which a run ends that is to rank them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from infra.records import Code, Query, Record
from infra.settings import EvaluationSettings, ScoringSettings
from infra.settings.sections import USUAL_METRICS
from infra.store import Database, corpus
from tasks.benchmarks import Benchmark, Rows, write_run
from tasks.benchmarks.benchmark import fit_name
from tasks.benchmarks.runs import Rankings
from tasks.encoders import encoders
from tasks.inputs.trec import read_run
from tasks.metrics import evaluate
from tasks.ranking.methods import chosen_methods, components
from tasks.reports.plan import RunPlan, plan_notes
from tasks.reports.text import counted
from tasks.runtime.caching import stage
from tasks.runtime.progress import get_run_logger
from tasks.runtime.references import FileReference, SearchReference
from tasks.stages.annotate.plan import AnnotationRun, pending_rounds, plan_of
from tasks.stages.leaderboard import annotated_qrels
from tasks.stages.scoring import Run, rank_with_progress
from tasks.stages.vectors import BenchmarkVectors
from tasks.statistics.comparisons import FEWEST, Neighbours, neighbours

_HANDFUL = 10  # queries, or a fifth of those that are judged


class Standing(Record):
    """The standing of the first methods after some queries.

    Attributes:
        queries: Queries that were to be judged.
        scored: Those with a match, over which methods are compared.
        metric: By which.
        found: Each of the first methods with the next one.
    """

    queries: int = 0
    scored: int = 0
    metric: str = ""
    found: tuple[Neighbours, ...] = ()

    @property
    def is_settled(self) -> bool:
        """Return True if no further label is needed."""
        return bool(self.found) and all(each.standing != "open" for each in self.found)

    def __str__(self) -> str:
        """Return the standing in a sentence."""
        if not self.queries:
            return f"before the first {FEWEST} queries were judged, of which nothing is told"
        said = ", ".join(
            f"{each.better} before {each.worse}: {each.standing} ({each.difference.mean:+.3f}, "
            f"{each.difference.low:+.3f} to {each.difference.high:+.3f})"
            for each in self.found
        )
        after = f"after {counted(self.queries, 'queries')}, {self.scored:,} with a match"
        return f"{after}, by {self.metric}: {said or 'no query has a match'}"


def query_counts(queries: int) -> Iterator[int]:
    """Yield the numbers of queries after which methods are compared, the last all."""
    number = FEWEST
    while number < queries:
        yield number
        number += max(_HANDFUL, number // 5)
    yield queries


@stage("rank-methods", "rank the codes of {search.collection} by each method")
def rank_methods(
    database: Database, search: SearchReference, settings: ScoringSettings
) -> list[Run]:
    """Rank a collection's codes for all its queries by each method, beside the store."""
    name = fit_name(search.collection, "collection")
    content = Benchmark(
        name=name,
        label_origin="none",
        queries=Rows(Query, corpus.query_columns(database, search.collection)),
        codes=Rows(Code, corpus.code_columns(database, search.collection)),
        labels=(),
        sources=(),
    )
    vectors = BenchmarkVectors(content, database, settings.encoder, settings.ray)
    runs = []
    for method in chosen_methods(settings):
        for encoder in filter(encoders.has, components(method)):
            vectors.compute_missing(encoder)
        rankings = rank_with_progress(content, method, vectors, settings.evaluation.depth)
        file = write_run(database.settings.folder / "standing" / name, method, rankings)
        runs.append(Run(method=method, file=file))
    return runs


@dataclass
class OpenRuns(FileReference):
    """The runs of methods."""

    runs: Sequence[Run]

    @cached_property
    def rankings(self) -> dict[str, Rankings]:
        """Method → rankings."""
        return {run.method: read_run(run.file) for run in self.runs}


@stage("standing", "compare the first methods on {run.search.collection}")
def standing_of(
    database: Database, run: AnnotationRun, runs: OpenRuns, settings: EvaluationSettings
) -> Standing:
    """Return the standing of methods by the labels of the queries that a run has drawn."""
    metric, policy = (settings.metrics or USUAL_METRICS)[0], run.policy
    with database.transaction() as tx:
        drawn = corpus.drawn_queries(tx, run.search.collection, run.committee.annotation.draw)
    qrels = annotated_qrels(database, run)
    if drawn is not None:
        qrels = {query: qrels[query] for query in drawn if query in qrels}
    scores = {
        method: evaluate(ranked, qrels, [metric])[metric]
        for method, ranked in runs.rankings.items()
    }
    scored = sorted(next(iter(scores.values()), {}))
    values = {
        method: np.array([of_query[query] for query in scored], np.float64)
        for method, of_query in scores.items()
    }
    found = neighbours(values, policy.until_ranked or 1, policy.margin) if scored else []
    number = run.search.queries if drawn is None else len(drawn)
    standing = Standing(queries=number, scored=len(scored), metric=metric, found=tuple(found))
    get_run_logger().info("%s", standing)
    return standing


def count_left(database: Database, run: AnnotationRun) -> int:
    """Return the number of pairs that a run has still to judge."""
    return _plan_of_rest(database, run).taken


def rest_sentence(database: Database, run: AnnotationRun) -> str:
    """Return the cost of judging the pending pairs, as a sentence."""
    plan = _plan_of_rest(database, run)
    if not plan.taken:
        return "no pair is left"
    return f"the other {counted(plan.taken, 'pairs')} are not judged; {plan_notes(plan)[-1]}"


def _plan_of_rest(database: Database, run: AnnotationRun) -> RunPlan:
    policy = run.policy.model_copy(update={"pairs": None})
    return plan_of(database, replace(run, policy=policy), pending_rounds(database, run))
