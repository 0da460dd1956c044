"""A leaderboard: methods compared on one benchmark, as table, page and scores for each query.

The benchmark is a folder, either an export or a BEIR folder. Runs of other systems are TREC files.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from agents.llm.price_list import prices_of
from infra.errors import SourceError, UnknownNameError
from infra.records import Record
from infra.settings import EncoderSettings, EvaluationSettings, ScoringSettings
from infra.settings.sections import USUAL_METRICS
from infra.store import Database, benchmarks
from infra.store.labels import decide_labels
from infra.store.samples import final_labels
from infra.summaries import NO_EFFORT
from tasks.benchmarks import qrels_of
from tasks.benchmarks.distractors import parents_of_mutants
from tasks.benchmarks.runs import Qrels, Rankings
from tasks.encoders import encoders
from tasks.inputs.trec import read_run
from tasks.metrics import evaluate
from tasks.ranking.methods import components
from tasks.reports.circularity import circularity_of
from tasks.reports.corrected import CorrectedScores, PeopleLabels, corrected_scores
from tasks.reports.leaderboard import (
    Leaderboard,
    MethodScores,
    Speed,
    above_mutants,
    build_leaderboard,
    judged_share,
    per_query_table,
    unjudged_results,
    unranked_queries,
)
from tasks.reports.leaderboard_page import leaderboard_document
from tasks.reports.text import counted
from tasks.runtime.caching import stage
from tasks.runtime.progress import artifact_key, get_run_logger, write_pages
from tasks.stages.annotate.plan import AnnotationRun
from tasks.stages.coverage import labels_by
from tasks.stages.scoring import (
    OpenBenchmark,
    Run,
    leaderboard_folder,
    method_key,
    require_labels,
)
from tasks.stages.vectors import BenchmarkVectors, Encoding
from tasks.statistics import Values

UNJUDGED = "unjudged.jsonl"


class WrittenLeaderboard(Record):
    """A leaderboard and its folder.

    Attributes:
        folder: The folder of the page, the tables and the list of unjudged results.
        before: The methods' scores.
        unjudged: Number of unjudged results among the methods' first 10.
        after: The scores after the agents annotated such results, if requested.
        corrected: The scores corrected by people's labels, if the store has any of the benchmark.
    """

    folder: Path
    before: Leaderboard
    unjudged: int
    after: Leaderboard | None = None
    corrected: CorrectedScores | None = None


@stage("leaderboard", "compare all methods on {benchmark.name}")
def write_leaderboard(
    database: Database,
    benchmark: OpenBenchmark,
    runs: Sequence[Run],
    scoring: ScoringSettings,
    judged: AnnotationRun | None = None,
) -> WrittenLeaderboard:
    """Write the table, the page, the scores for each query, and the unjudged results.

    With the run that has judged such results there is a second table, which includes them.

    Raises:
        PublishError: The benchmark's labels are sealed, and it was opened without its answers.
    """
    require_labels(benchmark, runs)
    rankings = read_rankings(benchmark, runs)
    qrels = qrels_of(benchmark.content.labels)
    evaluation = scoring.evaluation
    speeds = _speeds(database, benchmark, rankings, scoring)
    board, scores = compared_methods(benchmark, rankings, qrels, evaluation, speeds)
    ranked = {row.method: rankings[row.method] for row in board.rows}
    if ranked:
        found = circularity_of(benchmark.content, ranked, qrels, board.metrics[0])
        board = board.model_copy(update={"circularity": found})
    unjudged = unjudged_results(rankings, qrels)
    after = None
    if judged:
        new = annotated_qrels(database, judged)
        merged = {query: {**new.get(query, {}), **known} for query, known in qrels.items()}
        after, _ = compared_methods(benchmark, rankings, merged, evaluation)
    folder = leaderboard_folder(benchmark.published, scoring.publish)
    lines = [json.dumps(pair.model_dump(), ensure_ascii=False) for pair in unjudged]
    files = {
        "per_query.parquet": per_query_table(scores),
        UNJUDGED: "".join(f"{line}\n" for line in lines),
    }
    values = {entry.method: entry.values for entry in scores}
    people = _people_labels(database)
    corrected = corrected_scores(ranked, values, qrels, people, board.metrics)
    document = leaderboard_document(board, len(unjudged), after, corrected)
    key = artifact_key("leaderboard", benchmark.name)
    write_pages(folder, "leaderboard", document, files, key=key, about=benchmark.name)
    return WrittenLeaderboard(
        folder=folder, before=board, unjudged=len(unjudged), after=after, corrected=corrected
    )


def _speeds(
    database: Database, benchmark: OpenBenchmark, methods: Iterable[str], scoring: ScoringSettings
) -> dict[str, Speed]:
    """Return method → what it takes, of those that this store scored."""
    content = benchmark.content
    vectors = BenchmarkVectors(content, database, scoring.encoder, scoring.ray)
    encodings, found = benchmark.encodings, {}
    for method in methods:
        try:
            key = method_key(method, scoring.evaluation.depth)
        except UnknownNameError:  # a run of another system
            continue
        if stored := benchmarks.find_evaluation(database, benchmark.benchmark_id, key):
            names = [name for name in components(method) if encoders.has(name)]
            for name in names:
                if name not in encodings:  # it was scored before
                    encodings[name] = vectors.encoding(name)
            known = {name: encodings[name] for name in names}
            queries = len(content.queries) / stored.seconds if stored.seconds else None
            speed = _encoding_speed(known, len(content.codes), scoring.encoder)
            found[method] = speed.model_copy(update={"queries": queries})
    return found


def _encoding_speed(known: Mapping[str, Encoding], codes: int, settings: EncoderSettings) -> Speed:
    """Return the cost of encoders together, from the effort and the dimension of each."""
    efforts = [effort for effort, _ in known.values()]
    seconds = [effort.seconds / effort.texts if effort.texts else 0.0 for effort in efforts]
    numbers = sum(dimension for _, dimension in known.values())
    usd: list[float | None] = []  # of 1,000 texts by each API, None where its price is unknown
    for name, (effort, _) in known.items():
        spec = encoders.get(name).spec
        if spec.is_api:
            prices = prices_of(settings.of_api(spec.model))
            usd.append(
                prices.usd(effort.tokens, 0) / effort.texts * 1_000
                if prices and effort.texts
                else None
            )
    return Speed(
        texts=1 / sum(seconds) if seconds and all(seconds) else None,
        megabytes=codes * numbers * 4 / 1e6 if numbers else None,
        usd=sum(filter(None, usd)) if usd and None not in usd else None,
        machines=tuple(sorted(sum(efforts, NO_EFFORT).machines)),
    )


def read_rankings(
    benchmark: OpenBenchmark, runs: Sequence[Run], *, warns: bool = True
) -> dict[str, Rankings]:
    """Return method → rankings; log what of a run is not the benchmark's, where it ``warns``.

    Raises:
        SourceError: A run is malformed, or ranks no query or no code of the benchmark.
    """
    rankings = {run.method: read_run(run.file) for run in runs}
    queries = {query.query_id for query in benchmark.content.queries}
    codes = {code.code_id for code in benchmark.content.codes}
    for method, ranked in rankings.items():
        for kind, ids, own in (
            ("queries", ranked.query_ids, queries),
            ("codes", ranked.code_ids, codes),
        ):
            known = len(own.intersection(ids))
            if ids and not known:
                raise SourceError(
                    f"run {method!r} ranks none of the {kind} of {benchmark.name}: it belongs to "
                    "another benchmark"
                )
            if warns and known < len(ids):
                get_run_logger().warning(
                    "run %r: %s of its %s %s are of %s; the others count for nothing",
                    method, f"{known:,}", f"{len(ids):,}", kind, benchmark.name,
                )  # fmt: skip
    return rankings


def query_values(rankings: Rankings, qrels: Qrels, metrics: Sequence[str]) -> dict[str, Values]:
    """Return metric → (queries,) values, in the order of the queries' ids."""
    scores = evaluate(rankings, qrels, metrics)
    return {
        name: np.array([of[query] for query in sorted(of)], np.float64)
        for name, of in scores.items()
    }


def compared_methods(
    benchmark: OpenBenchmark,
    rankings: Mapping[str, Rankings],
    qrels: Qrels,
    settings: EvaluationSettings,
    speeds: Mapping[str, Speed] = MappingProxyType({}),
) -> tuple[Leaderboard, list[MethodScores]]:
    """Return the table of methods, and each method's scores for each query."""
    metrics = settings.metrics or USUAL_METRICS
    mutants = parents_of_mutants(benchmark.content)
    scores = [
        MethodScores(
            method=method,
            values=(values := evaluate(ranked, qrels, metrics)),
            judged=judged_share(ranked, qrels),
            unranked=unranked_queries(ranked, values[metrics[0]]),
            speed=speeds.get(method),
            mutants=above_mutants(ranked, mutants),
        )
        for method, ranked in rankings.items()
    ]
    content, identity = benchmark.content, benchmark.benchmark_id
    return build_leaderboard(content, identity, scores, metrics, settings.depth), scores


def _people_labels(database: Database) -> PeopleLabels:
    """Return people's labels 0 and 1 of exact matches, of samples that were drawn at random.

    A sample with pairs in conflict is left out: without them it is none of all pairs.
    """
    labels = [
        label
        for label in final_labels(database)
        if (label.scale, label.criterion) == ("binary", "exact")
    ]
    conflicts = Counter(label.sample_id for label in labels if label.relevance is None)
    drawn: dict[str, dict[str, dict[str, float]]] = {"queries": {}, "pairs": {}}
    for label in labels:
        if label.drawn in drawn and label.relevance is not None and not conflicts[label.sample_id]:
            drawn[label.drawn].setdefault(label.query_id, {})[label.code_id] = label.relevance
    for sample, pairs in conflicts.items():
        get_run_logger().warning(
            "people disagree on %s of sample %s, which corrects no score until a third decides: "
            "`cosqa label sample --conflicts-of %s --annotator NAME`",
            counted(pairs, "pairs"), sample, sample,
        )  # fmt: skip
    return PeopleLabels(**drawn)


def annotated_qrels(database: Database, run: AnnotationRun) -> Qrels:
    """Return the qrels of a search's pairs by the agents: the current labels."""
    rounds = [recipe.recipe_id for recipe in run.rounds]
    current = labels_by(database, run.search.collection, [run.search.search_id], rounds)
    qrels: dict[str, dict[str, float]] = {}
    for row in decide_labels(database, current).labels.to_pylist():
        qrels.setdefault(row["query_id"], {})[row["code_id"]] = row["relevance"]
    return qrels
