"""The stage that studies KAPE and its rivals: one encoder on one set of training and test pairs.

Its figures are stored under a digest of all that they depend on, so that each is computed once.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from prefect.logging import get_run_logger

from infra.identity import digest, digest_of_set
from infra.records import Record
from infra.settings import Settings
from infra.store import Database, benchmarks
from infra.store.benchmarks import StoredEstimation
from tasks.benchmarks.pair_splits import find_split, split_path
from tasks.benchmarks.pairs import Pairs, read_pairs
from tasks.encoders import encoders
from tasks.estimation.overlap import overlap
from tasks.estimation.study import rival_names, study_figures, study_steps
from tasks.estimation.study_figures import StudiedData, StudiedMethod, StudyFigures
from tasks.runtime.caching import VECTORS_AWAY, Parameters, stage
from tasks.runtime.progress import progress
from tasks.runtime.run_events import artifact_key
from tasks.stages.vectors import TextVectors

KIND = "study kape"
_VERSION = "4"  # raised when the same pairs and vectors would give other figures


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


def _is_stored(p: Parameters) -> bool:
    identity = _estimation_id(p.data, p.method)
    return benchmarks.load_as(p.database, identity, StudyFigures) is not None


@stage(
    "study-kape",
    "estimate and score {method} on {data.name}",
    key=lambda p: digest(
        "study-kape", p.database.store_id, p.data.name, _estimation_id(p.data, p.method)
    ),
    is_valid=_is_stored,
    retries=VECTORS_AWAY,
)
def study_method(
    database: Database, data: StudyData, method: str, settings: Settings
) -> StudyReference:
    """Compute and store all figures of an encoder on a data set, unless they are stored.

    Raises:
        SourceError: The pairs cannot be read.
        EncoderError: The encoder cannot be loaded.
        EstimationError: It gave vectors that have no cosine.
    """
    estimation_id = _estimation_id(data, method)
    if benchmarks.load_as(database, estimation_id, StudyFigures) is None:
        figures = _computed(database, data, method, settings)
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
    described = {each.name: _described(each) for each in data}
    studied = []
    for each in references:
        figures = benchmarks.load_as(database, each.estimation_id, StudyFigures)
        assert figures, each.estimation_id  # noqa: S101 - the stage has stored it
        studied.append(
            StudiedMethod(
                name=each.name, method=each.method, data=described[each.name], figures=figures
            )
        )
    return studied


def _computed(database: Database, data: StudyData, method: str, settings: Settings) -> StudyFigures:
    texts = TextVectors(data.name, database, settings.encoder, settings.ray)
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


def _described(data: StudyData) -> StudiedData:
    training, test = data.training, data.test
    return StudiedData(
        overlap=overlap(training, test),
        left_out=_together(training.left_out, test.left_out),
    )


def _together(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}
