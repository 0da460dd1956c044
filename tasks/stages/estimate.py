"""Estimates of methods' scores on queries that nobody labelled, and their report."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from infra.errors import EstimationError
from infra.identity import digest
from infra.settings import (
    EncoderSettings,
    EstimationSettings,
    PublishSettings,
    RaySettings,
    Settings,
)
from infra.store import Database
from tasks.benchmarks.benchmark import fit_name
from tasks.estimators import EstimationData, Floats, PairVectors, Positions, Ranks
from tasks.estimators.kape import KAPE
from tasks.inputs.formats import read_pairs, read_query_texts
from tasks.inputs.pairs import Pairs, QueryTexts, shared_queries
from tasks.reports.estimation import EstimationReport, MethodEstimate, estimation_document
from tasks.reports.text import counted, visible
from tasks.runtime.caching import VECTORS_AWAY, stage
from tasks.runtime.input_checks import check_estimate
from tasks.runtime.progress import artifact_key, get_run_logger, time_of_writing, write_pages
from tasks.runtime.references import FileReference
from tasks.stages.vectors import TextVectors, encoder_key

PAGE, FIGURES = "estimate.html", "estimate.json"
_VERSION = "7"  # to be raised when the same input is to give other figures, or its class moves
_LONGEST = 1_000


@dataclass
class EstimationInput(FileReference):
    """Training pairs and queries.

    Attributes:
        pairs_file: Training pairs that `tasks.inputs.formats.read_pairs` reads.
        queries_file: A file that `tasks.inputs.formats.read_query_texts` reads.
    """

    pairs_file: Path
    queries_file: Path

    @property
    def name(self) -> str:
        """The name of the queries."""
        return self.queries.name

    @cached_property
    def training(self) -> Pairs:
        """The training pairs."""
        return read_pairs(self.pairs_file)

    @cached_property
    def queries(self) -> QueryTexts:
        """The queries."""
        return read_query_texts(self.queries_file)

    @property
    def identity(self) -> str:
        """Digest of queries and training pairs."""
        return digest(self.training.fingerprint, self.queries.fingerprint)

    @cached_property
    def notes(self) -> list[str]:
        """Sentences that a reader of the estimates must know."""
        queries = len(self.queries)
        pool = (
            f"KAPE's estimates are of a search among {counted(queries, 'codes')}, as many as "
            "there are queries: among more codes scores are lower."
        )
        notes = [pool]
        if common := shared_queries(self.training.queries, self.queries.texts):
            notes.append(
                f"Of {counted(queries, 'queries')} {common:,} are training queries, too: scores on "
                "them say little about new queries, and estimates are too high."
            )
        for name, left_out in (
            ("the training pairs", self.training.left_out),
            ("the queries", self.queries.left_out),
        ):
            if left_out:
                counts = ", ".join(f"{number:,} x {reason}" for reason, number in left_out.items())
                notes.append(f"Left out of {name}: {counts}.")
        return notes


def open_input(settings: Settings, train: Path, queries: Path) -> EstimationInput:
    """Return training pairs and queries, checked and read."""
    check_estimate(settings, [train, queries])
    opened = EstimationInput(train.resolve(), queries.resolve())
    _ = opened.training, opened.queries
    return opened


def log_sizes(opened: EstimationInput) -> None:
    """Log the numbers of training pairs and queries, and what a reader must know."""
    sizes = (
        f"{counted(len(opened.queries), 'queries')} of {opened.name}, "
        f"{counted(len(opened.training), 'training pairs')} of {opened.training.name}"
    )
    for note in (sizes, *opened.notes):
        get_run_logger().info("%s", visible(note, _LONGEST))


@stage(
    "estimate",
    "estimate the scores of {method} on {inputs.name}",
    key=lambda p: digest(
        *("estimate", _VERSION, p.database.store_id, p.method, encoder_key(p.method)),
        *(p.inputs.identity, p.settings.model_dump_json()),
    ),
    retries=VECTORS_AWAY,  # without `is_valid`: the result is complete
)
def estimate_method(
    database: Database,
    inputs: EstimationInput,
    method: str,
    encoder: EncoderSettings,
    ray: RaySettings,
    settings: EstimationSettings,
) -> MethodEstimate:
    """Embed the texts, and return the estimated scores."""
    vectors = TextVectors(inputs.name, database, encoder, ray)
    training = vectors.load_pairs(method, inputs.training)
    queries = vectors.load(method, "query", inputs.queries.texts)
    return estimate_scores(method, training, queries, settings)


def estimate_scores(
    method: str, training: PairVectors, queries: Floats, settings: EstimationSettings
) -> MethodEstimate:
    """Return KAPE's estimates of a method's scores.

    Args:
        method: Its name.
        training: Vectors of the labelled pairs.
        queries: (n, d) vectors of the queries.
        settings: Neighbours and measures.

    Raises:
        EstimationError: There are no training pairs or queries, or a vector has no cosine.
        UnknownNameError: A measure is unknown.
    """
    data = EstimationData(training, queries, _no_label)
    estimate = KAPE(settings.k).estimate(data, budget=1, seed=0)
    return MethodEstimate(
        method=method,
        k=settings.k,
        training=len(training),
        queries=len(queries),
        scores={measure: estimate.mean(measure) for measure in settings.metrics},
    )


def _no_label(rows: Positions) -> Ranks:
    needed = counted(len(rows), "queries")
    raise EstimationError(f"labels of {needed} are needed, and none can be given here")


@stage("write-estimate", "report on the estimates for {inputs.name}")
def write_estimate(
    inputs: EstimationInput, estimates: Sequence[MethodEstimate], settings: PublishSettings
) -> Path:
    """Write page, Markdown and JSON; return their folder.

    Other texts, methods or options have another folder.
    """
    report = EstimationReport(
        title=inputs.name,
        training=inputs.training.name,
        generated_at=time_of_writing(),
        estimates=tuple(estimates),
        notes=tuple(inputs.notes),
    )
    made = digest(inputs.identity, *(each.model_dump_json() for each in estimates))
    name = f"{fit_name(inputs.name, 'queries')[:80]}-{made[:8]}"
    folder = settings.folder.resolve() / "estimates" / name
    figures = {FIGURES: report.model_dump_json(indent=1) + "\n"}
    key, document = artifact_key("estimate", inputs.name), estimation_document(report)
    write_pages(folder, "estimate", document, figures, key=key, about=report.title)
    get_run_logger().info("estimate: %s", folder / PAGE)
    return folder


def read_report(folder: Path) -> EstimationReport:
    """Return a written report."""
    text = (folder / FIGURES).read_text(encoding="utf-8")
    return EstimationReport.model_validate_json(text)
