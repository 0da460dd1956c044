"""A leaderboard's stages: a benchmark's folder is opened, methods rank it, a table is written.

The folder is an export of ours, or BEIR's. Rankings are kept as TREC runs beside the table and
scores in the store under the benchmark's checksum, so that a method is ranked once; runs that were
made elsewhere take part as files.
"""

import json
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import pyarrow.parquet as pq
from prefect import task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.logging import get_run_logger

from infra.errors import SourceError
from infra.identity import digest, digest_of_set
from infra.records import Record
from infra.settings import Settings
from infra.store import benchmarks, open_database
from infra.store.benchmarks import Evaluation, Published
from tasks.benchmarks import (
    Benchmark,
    benchmark_fingerprint,
    is_export,
    qrels_of,
    read_benchmark,
    write_run,
)
from tasks.benchmarks.beir import beir_files, is_beir, read_beir
from tasks.benchmarks.manifest import MANIFEST, read_manifest
from tasks.benchmarks.trec import read_run
from tasks.files.text import state_of
from tasks.metrics import evaluate
from tasks.ranking.methods import Ranker, chosen_methods, identity
from tasks.reports.leaderboard import (
    METRICS,
    RECALL_DEPTHS,
    Leaderboard,
    MethodScores,
    Unjudged,
    build_leaderboard,
    judged_share,
    leaderboard_markdown,
    per_query_table,
    render_leaderboard,
    unjudged_results,
)
from tasks.retrievers import Rankings
from tasks.stages.rerank import reranker
from tasks.stages.vectors import TextVectors


class Contest(Record):
    """A benchmark on which methods compete.

    Attributes:
        folder: Where the benchmark lies.
        benchmark_id: Its checksum: queries, codes and labels.
        output: Where the leaderboard goes.
        metrics: In the order of the table; the first one orders the methods.
    """

    folder: Path
    name: str
    benchmark_id: str
    output: Path
    metrics: tuple[str, ...]


class Run(Record):
    """A method's rankings, as a TREC run."""

    method: str
    file: Path


class WrittenLeaderboard(Record):
    """A leaderboard and where it was written; ``after`` judging the pool, if that was asked for."""

    folder: Path
    before: Leaderboard
    unjudged: tuple[Unjudged, ...]
    after: Leaderboard | None = None


@task(name="open-contest", cache_policy=NO_CACHE)
def open_contest(folder: Path, settings: Settings) -> Contest:
    """Return a benchmark's reference after entering it in the store.

    Raises:
        SourceError: The folder is neither an export nor a BEIR folder.
        PublishError: The export is damaged.
    """
    folder = folder.resolve()
    benchmark, benchmark_id = _opened(folder)
    database = open_database(settings.store)
    if benchmarks.find_benchmark(database, benchmark_id) is None:
        benchmarks.record_benchmark(
            database,
            Published(
                benchmark_id=benchmark_id,
                name=benchmark.name,
                collection="",
                label_origin=benchmark.label_origin,
                demo=benchmark.demo,
                folder=str(folder),
            ),
        )
    output = settings.publish.folder.resolve() / "leaderboards" / f"{benchmark.name}-{benchmark_id}"
    output.mkdir(parents=True, exist_ok=True)
    return Contest(
        folder=folder,
        name=benchmark.name,
        benchmark_id=benchmark_id,
        output=output,
        metrics=settings.evaluation.metrics or METRICS,
    )


def contestants(settings: Settings) -> list[str]:
    """Return the methods that compete: those asked for, else all lexical ones and the encoders."""
    return chosen_methods(settings.evaluation, settings.search)


@task(name="rank", task_run_name="rank-{contest.name}-{method}", cache_policy=NO_CACHE)
def rank_benchmark(contest: Contest, method: str, settings: Settings) -> Run:
    """Rank the benchmark's codes by a method, unless its run is there; store run and scores.

    Raises:
        UnknownNameError: There is no such method.
        EncoderError: An encoder cannot be loaded.
        LanguageModelError: The model that re-ranks is out of reach or refuses.
    """
    database, depth = open_database(settings.store), settings.evaluation.depth
    made_by = digest(identity(method, settings.llm), str(depth))
    key = digest("leaderboard", made_by, digest_of_set(_names(contest)))
    name = f"{method}.{made_by[:8]}"
    run = Run(method=method, file=contest.output / "runs" / f"{name}.trec")
    if run.file.exists() and benchmarks.find_evaluation(database, contest.benchmark_id, key):
        return run
    benchmark, _ = _opened(contest.folder)
    started = time.monotonic()
    vectors = TextVectors(benchmark, database, settings)
    ranker = Ranker(benchmark.queries, benchmark.codes, vectors, reranker(benchmark, settings))
    write_run(contest.output, name, ranker.rank(method, depth).rows())
    evaluation = Evaluation(
        benchmark_id=contest.benchmark_id,
        method=method,
        method_key=key,
        depth=depth,
        seconds=time.monotonic() - started,
    )
    scores = evaluate(read_run(run.file), qrels_of(benchmark.labels), _names(contest))
    benchmarks.add_scores(database, evaluation, scores)
    get_run_logger().info("%s on %s: %.1f s", method, contest.name, evaluation.seconds)
    return run


@task(name="leaderboard", cache_policy=NO_CACHE)
def write_leaderboard(
    contest: Contest,
    runs: Sequence[Run],
    settings: Settings,
    judged: Mapping[str, Mapping[str, float]] | None = None,
) -> WrittenLeaderboard:
    """Write the table, the page, every query's values and the unjudged results.

    Args:
        contest: The benchmark.
        runs: Each method's rankings.
        settings: The length of rankings.
        judged: Query → code → relevance that were judged since, for a table after them.

    Raises:
        SourceError: A run is malformed, or belongs to another benchmark.
    """
    rankings = _rankings(runs)
    board, scores = _standings(contest, rankings, settings)
    benchmark, _ = _opened(contest.folder)
    qrels = qrels_of(benchmark.labels)
    unjudged = unjudged_results(rankings, qrels)
    after = None
    if judged is not None:
        merged = {query: {**judged.get(query, {}), **of_query} for query, of_query in qrels.items()}
        after, _ = _standings(contest, rankings, settings, merged)
    pq.write_table(per_query_table(scores), contest.output / "per_query.parquet")
    page = render_leaderboard(board, unjudged, after)
    (contest.output / "leaderboard.html").write_text(page, encoding="utf-8")
    table = leaderboard_markdown(board)
    (contest.output / "leaderboard.md").write_text(table + "\n", encoding="utf-8")
    _write_unjudged(contest.output / "unjudged.jsonl", unjudged)
    create_markdown_artifact(table, key="leaderboard", description=contest.name)
    return WrittenLeaderboard(
        folder=contest.output, before=board, unjudged=tuple(unjudged), after=after
    )


@task(name="build-leaderboard", cache_policy=NO_CACHE)
def stand_methods(
    contest: Contest, runs: Sequence[Run], settings: Settings
) -> tuple[Leaderboard, list[MethodScores]]:
    """Return the table of methods and every query's values, writing nothing.

    Raises:
        SourceError: A run is malformed, or belongs to another benchmark.
    """
    return _standings(contest, _rankings(runs), settings)


def _standings(
    contest: Contest,
    rankings: Mapping[str, Rankings],
    settings: Settings,
    judged: Mapping[str, Mapping[str, float]] | None = None,
) -> tuple[Leaderboard, list[MethodScores]]:
    benchmark, benchmark_id = _opened(contest.folder)
    _refuse_strangers(rankings, benchmark)
    scores = _scores(rankings, judged or qrels_of(benchmark.labels), contest)
    depth = settings.evaluation.depth
    return build_leaderboard(benchmark, benchmark_id, scores, contest.metrics, depth), scores


def opened(contest: Contest) -> Benchmark:
    """Return the benchmark of a contest."""
    return _opened(contest.folder)[0]


def _opened(folder: Path) -> tuple[Benchmark, str]:
    """Return a benchmark and its checksum."""
    check_folder(folder)
    files = [folder / MANIFEST] if is_export(folder) else beir_files(folder)
    return _read(folder, state_of(files))


def check_folder(folder: Path) -> None:
    """Refuse a folder that is no benchmark.

    Raises:
        SourceError: It is neither an export nor a BEIR folder.
    """
    if not is_export(folder) and not is_beir(folder):
        raise SourceError(
            f"{folder} is no benchmark: it has neither an export's {MANIFEST} nor BEIR's "
            "corpus.jsonl"
        )


@lru_cache(maxsize=1)
def _read(folder: Path, state: str) -> tuple[Benchmark, str]:  # noqa: ARG001 - a changed folder is read again
    """Return a benchmark and its checksum; the last one stays in memory for the next task."""
    if is_export(folder):
        return read_benchmark(folder), read_manifest(folder).fingerprint
    benchmark = read_beir(folder)
    return benchmark, benchmark_fingerprint(benchmark)


def _names(contest: Contest) -> tuple[str, ...]:
    recall = (f"Recall@{depth}" for depth in RECALL_DEPTHS)
    return tuple(dict.fromkeys([*contest.metrics, *recall]))


def _scores(
    rankings: Mapping[str, Rankings], qrels: Mapping[str, Mapping[str, float]], contest: Contest
) -> list[MethodScores]:
    return [
        MethodScores(
            method=method,
            values=evaluate(ranked, qrels, _names(contest)),
            judged=judged_share(ranked, qrels),
        )
        for method, ranked in rankings.items()
    ]


def _rankings(runs: Sequence[Run]) -> dict[str, Rankings]:
    return {run.method: read_run(run.file) for run in runs}


def _refuse_strangers(rankings: Mapping[str, Rankings], benchmark: Benchmark) -> None:
    queries = {query.query_id for query in benchmark.queries}
    for method, ranked in rankings.items():
        if queries.isdisjoint(ranked.query_ids):
            raise SourceError(
                f"run {method!r} ranks none of the queries of {benchmark.name}: it belongs to "
                "another benchmark"
            )


def _write_unjudged(file: Path, unjudged: Sequence[Unjudged]) -> None:
    lines = [json.dumps(pair.model_dump(), ensure_ascii=False) for pair in unjudged]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
