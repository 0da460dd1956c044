"""The study of KAPE and its rivals: each encoder on each data set, and the report.

Figures are stored under a digest of all that they depend on, so that each is computed once.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from prefect.logging import get_run_logger

from infra.identity import digest, digest_of_set, mark
from infra.records import Record
from infra.settings import EncoderSettings, PublishSettings, RaySettings
from infra.store import Database, benchmarks
from infra.store.benchmarks import StoredEstimation
from tasks.benchmarks.pair_splits import find_split, split_path
from tasks.benchmarks.pairs import Pairs, overlap, read_pairs
from tasks.encoders import encoders
from tasks.estimation.study import rival_names, study_figures, study_steps
from tasks.estimation.study_figures import StudiedMethod, StudyFigures
from tasks.reports.kape import KapeReport, build_kape_report, kape_document
from tasks.runtime.caching import VECTORS_AWAY, stage
from tasks.runtime.pages import write_pages
from tasks.runtime.progress import progress
from tasks.runtime.run_events import artifact_key
from tasks.stages.vectors import TextVectors

PAGE, REPORT = "kape.html", "kape.json"
KIND = "study kape"
_LONGEST = 120  # of a folder's name
_VERSION = "6"  # raised when the same pairs and vectors would give other figures


class StudyData:
    """Training, validation and test pairs, read from their folder once, on demand.

    Only name and folder are pickled, so that it can be a parameter of tasks.

    Args:
        name: What the data set is called in tables.
        folder: With the training and the test pairs, and maybe validation pairs.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder

    def __reduce__(self) -> tuple[type["StudyData"], tuple[str, Path]]:
        return StudyData, (self.name, self.folder)

    @cached_property
    def training(self) -> Pairs:
        """The pairs that models were trained on.

        Raises:
            SourceError: There are none, or a file is malformed.
        """
        return read_pairs(split_path(self.folder, "train"))

    @cached_property
    def test(self) -> Pairs:
        """The pairs whose queries are taken as unlabelled, and whose codes give the truth.

        Raises:
            SourceError: There are none, or a file is malformed.
        """
        return read_pairs(split_path(self.folder, "test"))

    @cached_property
    def validation(self) -> Pairs | None:
        """The pairs by which the epoch of a model was chosen; None where the folder has none.

        Raises:
            SourceError: They hold no pair, or a file is malformed.
        """
        place = find_split(self.folder, "valid")
        return read_pairs(place) if place else None


class StudyReference(Record):
    """Reference to the stored figures of a method on a data set."""

    name: str
    method: str
    estimation_id: str


def _estimation_id(data: StudyData, method: str) -> str:
    validation = data.validation.fingerprint if data.validation else ""
    pairs = digest(data.training.fingerprint, validation, data.test.fingerprint)
    return digest(
        KIND, _VERSION, pairs, encoders.get(method).spec.key, digest_of_set(rival_names())
    )


@stage(
    "study-kape",
    "estimate and score {method} on {data.name}",
    key=lambda p: digest(
        "study-kape", p.database.store_id, p.data.name, _estimation_id(p.data, p.method)
    ),
    is_valid=lambda p: (
        benchmarks.load_as(p.database, _estimation_id(p.data, p.method), StudyFigures) is not None
    ),
    retries=VECTORS_AWAY,
)
def study_method(
    database: Database, data: StudyData, method: str, encoder: EncoderSettings, ray: RaySettings
) -> StudyReference:
    """Compute and store all figures of an encoder on a data set, unless they are stored.

    Raises:
        SourceError: The pairs cannot be read.
        EncoderError: The encoder cannot be loaded.
        EstimationError: It gave vectors that have no cosine.
    """
    estimation_id = _estimation_id(data, method)
    if benchmarks.load_as(database, estimation_id, StudyFigures) is None:
        figures = _computed(TextVectors(data.name, database, encoder, ray), data, method)
        stored = StoredEstimation(
            estimation_id=estimation_id,
            kind=KIND,
            train=data.training.name,
            test=data.test.name,
            method=method,
            method_key=encoders.get(method).spec.key,
            body=figures.model_dump(mode="json"),
        )
        benchmarks.save(database, stored)
    return StudyReference(name=data.name, method=method, estimation_id=estimation_id)


def load_studied(
    database: Database, data: Sequence[StudyData], references: Sequence[StudyReference]
) -> list[StudiedMethod]:
    """Return the stored figures, with what is said of their data sets."""
    overlaps = {each.name: overlap(each.training, each.test) for each in data}
    left_out = {
        each.name: Counter(each.training.left_out) + Counter(each.test.left_out) for each in data
    }
    by_name = {each.name: each for each in data}
    studied = []
    for each in references:
        figures = benchmarks.load_as(database, each.estimation_id, StudyFigures)
        assert figures, each.estimation_id  # noqa: S101 - the stage has stored it
        studied.append(
            StudiedMethod(
                name=each.name, method=each.method, overlap=overlaps[each.name],
                left_out=left_out[each.name], figures=figures,
                nearest=tuple(
                    (by_name[each.name].test.queries[pair.row],
                     by_name[each.name].training.queries[pair.nearest_row])
                    for pair in figures.nearest
                ),
            )
        )  # fmt: skip
    return studied


def _computed(texts: TextVectors, data: StudyData, method: str) -> StudyFigures:
    training, test = (texts.load_pairs(method, pairs) for pairs in (data.training, data.test))
    validation = texts.load_pairs(method, data.validation) if data.validation else None
    get_run_logger().info(
        "%s: %s training pairs, %s test pairs", data.name, f"{len(training):,}", f"{len(test):,}"
    )
    with progress(
        artifact_key("study-kape", f"{data.name} {method}"),
        "steps of the study",
        study_steps(len(test)),
    ) as bar:
        return study_figures(training, test, bar.advance, validation)


@stage("kape-report", "report the study of KAPE")
def write_kape_report(
    database: Database,
    data: Sequence[StudyData],
    references: Sequence[StudyReference],
    settings: PublishSettings,
) -> Path:
    """Write the report on methods that were studied, beside the paper's figures; return its folder.

    It has the page, the Markdown, and all figures as JSON.

    Args:
        database: The store, which has the figures.
        data: The data sets.
        references: Each method on each data set.
        settings: Where reports are written.
    """
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    report = build_kape_report(load_studied(database, data, references), now)
    folder = settings.folder.resolve() / "kape-studies" / folder_name(report.names)
    files = {REPORT: report.model_dump_json(indent=1)}
    about = f"KAPE on {', '.join(report.names)}"
    key = artifact_key("study-kape", "-".join(report.names))
    write_pages(folder, "kape", kape_document(report), files, key=key, about=about)
    for name in report.names:
        both = report.of(name)[0].overlap
        if both.queries:
            get_run_logger().warning(
                "%s: %d of %d test queries are training queries too, %d with the same code",
                name, both.queries, both.of, both.pairs,
            )  # fmt: skip
    get_run_logger().info("study: %s", folder / PAGE)
    return folder


def folder_name(names: Sequence[str]) -> str:
    """Return the data sets' names, or the first and a digest where a file's name is too short."""
    joined = "+".join(names)
    return joined if len(joined) <= _LONGEST else f"{names[0]}+{len(names) - 1}-{mark(*names)}"


def read_kape_report(folder: Path) -> KapeReport:
    """Return the report that `write_kape_report` wrote into a folder."""
    return KapeReport.model_validate_json((folder / REPORT).read_text("utf-8"))
