"""The study of KAPE and its rivals: each encoder on each data set, and the report."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from infra.identity import digest, digest_of_set, mark
from infra.settings import EncoderSettings, PublishSettings, RaySettings, Settings
from infra.store import Database
from tasks.encoders import encoders
from tasks.estimation.study import StudiedMethod, rival_names, study_figures, study_steps
from tasks.inputs.formats import find_split, read_pairs, split_path
from tasks.inputs.pairs import Pairs, overlap
from tasks.reports.kape import KapeReport, kape_document
from tasks.reports.text import counted
from tasks.runtime.caching import VECTORS_AWAY, stage
from tasks.runtime.input_checks import check_kape
from tasks.runtime.progress import (
    artifact_key,
    get_run_logger,
    progress,
    time_of_writing,
    write_pages,
)
from tasks.runtime.references import FileReference
from tasks.stages.vectors import TextVectors

PAGE, REPORT = "kape.html", "kape.json"
_LONGEST = 120  # of a folder's name
_VERSION = "9"  # raised when the same pairs and vectors would give other figures


@dataclass
class StudyData(FileReference):
    """Training, validation and test pairs.

    Attributes:
        name: The data set's name in tables.
        folder: Holds the training and the test pairs, and maybe validation pairs.
    """

    name: str
    folder: Path

    @cached_property
    def training(self) -> Pairs:
        """The pairs that models were trained on."""
        return read_pairs(split_path(self.folder, "train"))

    @cached_property
    def test(self) -> Pairs:
        """The pairs whose queries are taken as unlabelled, and whose codes give the truth."""
        return read_pairs(split_path(self.folder, "test"))

    @cached_property
    def validation(self) -> Pairs | None:
        """The pairs by which the epoch of a model was chosen; None where the folder has none."""
        place = find_split(self.folder, "valid")
        return read_pairs(place) if place else None

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """Digests of all the pairs, and of those that are left out."""
        return tuple(
            digest(each.fingerprint, *map(str, sorted(each.left_out.items()))) if each else ""
            for each in (self.training, self.validation, self.test)
        )


def open_data(settings: Settings, data: Mapping[str, Path]) -> list[StudyData]:
    """Return data sets by name and folder, checked and read."""
    check_kape(settings, data)
    opened = [StudyData(name, folder) for name, folder in data.items()]
    for each in opened:
        _ = each.fingerprints
    return opened


@stage(
    "study-kape",
    "estimate and score {method} on {data.name}",
    key=lambda p: digest(
        *("study-kape", _VERSION, p.database.store_id, p.data.name, *p.data.fingerprints),
        *(encoders.get(p.method).spec.key, digest_of_set(rival_names())),
    ),
    retries=VECTORS_AWAY,  # without `is_valid`: the result is complete
)
def study_method(
    database: Database, data: StudyData, method: str, encoder: EncoderSettings, ray: RaySettings
) -> StudiedMethod:
    """Compute all figures of an encoder on a data set."""
    texts = TextVectors(data.name, database, encoder, ray)
    training, test = (texts.load_pairs(method, pairs) for pairs in (data.training, data.test))
    validation = texts.load_pairs(method, data.validation) if data.validation else None
    get_run_logger().info(
        "%s: %s, %s",
        data.name,
        counted(len(training), "training pairs"),
        counted(len(test), "test pairs"),
    )
    with progress(
        artifact_key("study-kape", f"{data.name} {method}"),
        "steps of the study",
        study_steps(len(test)),
    ) as bar:
        figures = study_figures(training, test, bar.advance, validation)
    return StudiedMethod(
        name=data.name,
        method=method,
        overlap=overlap(data.training, data.test),
        left_out=Counter(data.training.left_out) + Counter(data.test.left_out),
        figures=figures,
        nearest=tuple(
            (data.test.queries[pair.row], data.training.queries[pair.nearest_row])
            for pair in figures.nearest
        ),
    )


@stage("kape-report", "report the study of KAPE")
def write_kape_report(studied: Sequence[StudiedMethod], settings: PublishSettings) -> Path:
    """Write the report, as page, Markdown and JSON; return its folder."""
    report = KapeReport(generated_at=time_of_writing(), studied=tuple(studied))
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
