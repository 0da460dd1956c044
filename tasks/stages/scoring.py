"""Scoring: runs and scores of retrieval methods on a published benchmark, computed once.

Runs are TREC files, in the folder of an export that this store has published, else in the
leaderboard's folder. A run's tag has a digest of the method, its weights and its depth,
so that a run of other settings is not reused. Scores are stored under the benchmark's checksum.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from infra.errors import PublishError, SourceError
from infra.files import OTHER_OUTPUT, space_on
from infra.identity import BenchmarkId, digest, digest_of_set, mark
from infra.records import Record
from infra.settings import EvaluationSettings, PublishSettings, ScoringSettings
from infra.settings.sections import USUAL_METRICS
from infra.store import Database, benchmarks
from infra.store.benchmarks import Evaluation, Published
from tasks.benchmarks import Benchmark, benchmark_fingerprint, is_export, read_manifest, write_run
from tasks.benchmarks.runs import QrelsTable, Rankings
from tasks.benchmarks.sealing import read_answers, unseal_benchmark
from tasks.benchmarks.trec import run_file, run_tag
from tasks.encoders import encoders
from tasks.inputs.formats import benchmark_at
from tasks.inputs.trec import read_run
from tasks.metrics import STANDARD, evaluate
from tasks.ranking.methods import Ranker, components, identity, steps_of
from tasks.runtime.caching import VECTORS_AWAY, Parameters, stage
from tasks.runtime.input_checks import check_folder
from tasks.runtime.progress import get_run_logger, progress
from tasks.runtime.references import FileReference
from tasks.stages.vectors import BenchmarkVectors, Encoding

_METRICS = (*STANDARD, *USUAL_METRICS)


@dataclass
class OpenBenchmark(FileReference):
    """A published benchmark.

    Attributes:
        published: The reference.
        answers: File of the answers that its export has sealed.
    """

    published: Published
    answers: Path | None = None

    @property
    def name(self) -> str:
        """The benchmark's name."""
        return self.published.name

    @property
    def benchmark_id(self) -> BenchmarkId:
        """The checksum of queries, codes and labels."""
        return self.published.benchmark_id

    @cached_property
    def content(self) -> Benchmark:
        """Queries, codes and labels."""
        return _content(Path(self.published.folder), self.answers)

    @cached_property
    def encodings(self) -> dict[str, Encoding]:
        """Encoder → what it took to encode the codes, of those that were scored here."""
        return {}


class Run(Record):
    """A method's rankings, as a TREC run."""

    method: str
    file: Path


def open_exports(published: Sequence[Published], answers: Path | None) -> list[OpenBenchmark]:
    """Return exports to be scored; with a file of answers the one alone that it belongs to.

    Raises:
        PublishError: It belongs to none of them, or is not what was sealed.
    """
    if answers is None:
        return [OpenBenchmark(each) for each in published]
    name = read_answers(answers).benchmark
    found = next((each for each in published if each.name == name), None)
    if found is None:
        names = ", ".join(each.name for each in published)
        raise PublishError(f"{answers} has the answers of {name!r}, which is none of {names}")
    content = _content(Path(found.folder), answers)
    identity = BenchmarkId(benchmark_fingerprint(content))
    opened = OpenBenchmark(found.model_copy(update={"benchmark_id": identity}), answers)
    opened.content = content
    return [opened]


def open_benchmark(
    database: Database | None, folder: Path, answers: Path | None = None
) -> OpenBenchmark:
    """Return the benchmark in a folder, and store its reference once the content is verified.

    ``answers`` is the file of those that it has sealed; without a store nothing is stored.
    """
    check_folder(folder)
    folder = folder.resolve()
    content = _content(folder, answers)
    if is_export(folder) and (manifest := read_manifest(folder)).sealed == content.sealed:
        identity = manifest.fingerprint  # pairs that it does not list may be part of it
    else:
        identity = benchmark_fingerprint(content)
    published = Published(
        benchmark_id=BenchmarkId(identity),
        name=content.name,
        collection="",
        label_origin=content.label_origin,
        folder=str(folder),
    )
    stored = database and benchmarks.find_benchmark(database, published.benchmark_id)
    if stored:
        published = stored.model_copy(update={"folder": str(folder)})
    elif database:
        benchmarks.record_benchmark(database, published)
    opened = OpenBenchmark(published, answers)
    opened.content = content
    return opened


def require_labels(benchmark: OpenBenchmark, runs: Sequence[Run] = ()) -> None:
    """Refuse to score a benchmark whose labels are all sealed, opened without its answers.

    Raises:
        PublishError: It is one; the message says where its rankings are, if there are any.
    """
    content = benchmark.content
    if content.sealed and not content.labels:
        found = (
            f"; its rankings, which its keeper can score, are in {runs[0].file.parent}"
            if runs
            else ""
        )
        raise PublishError(f"the labels of {benchmark.name} are sealed: give --answers FILE{found}")


def _content(folder: Path, answers: Path | None = None) -> Benchmark:
    found = benchmark_at(folder, usual="test")
    if found is None:
        raise SourceError(f"{folder} is not a benchmark any more: put it there again")
    content = found.benchmark(needs_labels=False)
    return unseal_benchmark(content, answers) if answers else content


def leaderboard_folder(published: Published, settings: PublishSettings) -> Path:
    """Return the folder of a benchmark's leaderboard."""
    name = f"{published.name}-{published.benchmark_id}"
    return settings.folder.resolve() / "leaderboards" / name


def method_key(method: str, depth: int) -> str:
    """Return the digest of a method with its weights and its depth."""
    return mark("scores", identity(method), str(depth))


def _run_folder(database: Database, published: Published, settings: PublishSettings) -> Path:
    """Return the folder of the runs: the export, if this store wrote it and it is no copy."""
    stored = benchmarks.find_benchmark(database, published.benchmark_id)
    is_own = stored and stored.collection and stored.folder == published.folder
    return Path(published.folder) if is_own else leaderboard_folder(published, settings)


def stored_runs(
    database: Database, benchmark: OpenBenchmark, settings: PublishSettings
) -> list[Run]:
    """Return the runs of methods that were scored on a benchmark, by their names."""
    folder = _run_folder(database, benchmark.published, settings)
    files = sorted(run_file(folder, "x").parent.glob("*.trec"))
    return [Run(method=file.stem, file=file) for file in files]


def _tag(method: str, key: str) -> str:
    return f"{method}.{key[:8]}"


def _stored_evaluation(
    database: Database, published: Published, method: str, depth: int, file: Path
) -> Evaluation | None:
    """Return a method's stored evaluation if its run exists, else None."""
    key = method_key(method, depth)
    if run_tag(file) not in (_tag(method, key), ""):  # a run without results has no tag
        return None
    return benchmarks.find_evaluation(database, published.benchmark_id, key)


def _computed_metrics(settings: EvaluationSettings) -> list[str]:
    return list(dict.fromkeys([*_METRICS, *settings.metrics]))


def _missing_metrics(
    database: Database, evaluation: Evaluation, settings: EvaluationSettings
) -> list[str]:
    """Return the metrics that a stored evaluation lacks; none if no query has a relevant code."""
    stored = benchmarks.scored_metrics(database, evaluation.benchmark_id, evaluation.method_key)
    return [name for name in _computed_metrics(settings) if stored and name not in stored]


def _is_scored(p: Parameters) -> bool:
    published, wanted = p.benchmark.published, p.settings.evaluation
    file = run_file(_run_folder(p.database, published, p.settings.publish), p.method)
    evaluation = _stored_evaluation(p.database, published, p.method, wanted.depth, file)
    return evaluation is not None and not _missing_metrics(p.database, evaluation, wanted)


def _scoring_key(p: Parameters) -> str:
    metrics = digest_of_set(_computed_metrics(p.settings.evaluation))
    folder = _run_folder(p.database, p.benchmark.published, p.settings.publish)
    key = method_key(p.method, p.settings.evaluation.depth)
    run = digest(p.benchmark.benchmark_id, key, str(folder))
    return digest("evaluate", p.database.store_id, run, metrics)


@stage(
    "evaluate",
    "score {method} on {benchmark.name}",
    key=_scoring_key,
    is_valid=_is_scored,
    retries=VECTORS_AWAY,
)
def score_method(
    database: Database, benchmark: OpenBenchmark, method: str, settings: ScoringSettings
) -> Run:
    """Rank a benchmark's codes by a method and store run and scores, unless they exist."""
    published, rankings = benchmark.published, None
    file = run_file(_run_folder(database, published, settings.publish), method)
    evaluation = _stored_evaluation(database, published, method, settings.evaluation.depth, file)
    if evaluation:
        missing = _missing_metrics(database, evaluation, settings.evaluation)
    else:
        evaluation, rankings = _rank(database, benchmark, method, settings)
        missing = _computed_metrics(settings.evaluation)
    if missing:
        qrels = QrelsTable.of_labels(benchmark.content.labels)
        scores = evaluate(rankings or read_run(file), qrels, missing)
        benchmarks.add_scores(database, evaluation, scores)
    return Run(method=method, file=file)


def rank_with_progress(
    content: Benchmark, method: str, vectors: BenchmarkVectors, depth: int
) -> Rankings:
    """Return a method's rankings; how far its pair models are is told while they work."""
    steps = steps_of(method, len(content.queries), len(content.codes))
    if not steps:
        return Ranker(content.queries, content.codes, vectors).rank(method, depth)
    with progress("", f"steps of {method} done", steps) as told:
        ranker = Ranker(content.queries, content.codes, vectors, told.advance)
        return ranker.rank(method, depth)


def _rank(
    database: Database, benchmark: OpenBenchmark, method: str, settings: ScoringSettings
) -> tuple[Evaluation, Rankings]:
    """Write a method's run; return its evaluation, to be stored with the scores, and the run."""
    published, content = benchmark.published, benchmark.content
    key = method_key(method, settings.evaluation.depth)
    vectors = BenchmarkVectors(content, database, settings.encoder, settings.ray)
    for encoder in filter(encoders.has, components(method)):
        vectors.compute_missing(encoder)
        benchmark.encodings[encoder] = vectors.encoding(encoder)
    started = time.monotonic()
    rankings = rank_with_progress(content, method, vectors, settings.evaluation.depth)
    folder = _run_folder(database, published, settings.publish)
    with space_on(folder, OTHER_OUTPUT):
        write_run(folder, method, rankings, tag=_tag(method, key))
    evaluation = Evaluation(
        benchmark_id=published.benchmark_id,
        method=method,
        method_key=key,
        depth=settings.evaluation.depth,
        seconds=time.monotonic() - started,
    )
    get_run_logger().info("%s on %s: %.1f s", method, published.name, evaluation.seconds)
    return evaluation, rankings
