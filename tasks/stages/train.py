"""The stages of training: a model is trained on Ray, and its gain is reported.

They write a folder below ``encoders/``: the model, its description (``encoder.json``), curves and
figures (``training.json``), the test queries as a BEIR folder (``test/``), and the report.
"""

import re
import shutil
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from infra.errors import SettingsError
from infra.files import OTHER_OUTPUT, locked, space_on
from infra.identity import digest
from infra.ray import ensure_ray
from infra.records import Record
from infra.settings import (
    EvaluationSettings,
    PublishSettings,
    RaySettings,
    Settings,
    TrainingSettings,
)
from infra.store import Database
from tasks.benchmarks.benchmark import benchmark_fingerprint, qrels_of
from tasks.benchmarks.interchange import write_beir
from tasks.benchmarks.writer import atomic_folder
from tasks.encoders import TRAINED, EncoderClass, SpecifiedEncoder, encoders
from tasks.reports.text import counted
from tasks.reports.training import (
    GAINED,
    Place,
    TrainingReport,
    training_document,
    training_figures,
)
from tasks.runtime.actors import train_on_ray
from tasks.runtime.caching import VECTORS_AWAY, Parameters, stage
from tasks.runtime.input_checks import check_training
from tasks.runtime.progress import artifact_key, get_run_logger, progress, write_pages
from tasks.runtime.references import FileReference
from tasks.stages.leaderboard import query_values, read_rankings
from tasks.stages.scoring import OpenBenchmark, Run
from tasks.training.data import TrainingData, read_corpus, read_training_data
from tasks.training.encoder import (
    IDENTITY,
    TRANSFORMER,
    Description,
    check_trainable,
    read_description,
    write_description,
    write_queries,
)
from tasks.training.models import is_untrained, models
from tasks.training.recipes import RECIPES, History, Recipe, TrainingJob, TrainingProgress

PAGE, TABLES, FIGURES, TEST = "training.html", "training.md", "training.json", "test"
_OTHERS = (PAGE, TABLES, FIGURES, TEST)  # than the model's
_VERSION = "2"  # to be raised when the same recipe and data are to give other weights
_USUAL = "cosqa-plus"
_CHANGED = ("epochs", "batch_size", "learning_rate", "buckets", "seed")


@dataclass
class TrainingInput(FileReference):
    """The data and settings of a training.

    Attributes:
        path: The data (`tasks.training.data.read_training_data`).
        test: A benchmark to test on in place of the data's own test queries.
        settings: Base, recipe and split.
    """

    path: Path
    test: Path | None
    settings: TrainingSettings

    @cached_property
    def data(self) -> TrainingData:
        """The data, split; all of its code for a model of code alone that `test` tests."""
        if self.test and self.recipe.loss == "none":
            return read_corpus(self.path, self.test)
        return read_training_data(self.path, self.settings, self.test)

    @property
    def is_fine_tuning(self) -> bool:
        """Return True if the base is an encoder, rather than a model that begins with nothing."""
        return not is_untrained(self.settings.base)

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe, with what the settings change of it."""
        name, base = self.settings.recipe, self.settings.base
        named = name or (_USUAL if self.is_fine_tuning else "")
        recipe = RECIPES[named] if named else models.get(base).recipe
        given = {key: getattr(self.settings, key) for key in _CHANGED}
        return recipe.model_copy(
            update={key: value for key, value in given.items() if value is not None}
        )

    @cached_property
    def base(self) -> EncoderClass | str:
        """The encoder that is fine-tuned, read as the recipe has it, or the model's name."""
        if not self.is_fine_tuning:
            return self.settings.base
        found = encoders.get(self.settings.base)
        spec = check_trainable(self.settings.base, found)
        recipe = self.recipe
        changed = spec.model_copy(
            update={
                "similarity": recipe.similarity,
                "pooling": recipe.pooling or spec.pooling,
                "white_space": "collapsed",
                "query_length": min(spec.max_length, recipe.query_length),
                "code_length": min(spec.max_length, recipe.code_length),
            }
        )
        return replace(cast("SpecifiedEncoder", found), spec=changed)

    @cached_property
    def tested(self) -> str:
        """Fingerprint of the test queries, their labels and code base."""
        return benchmark_fingerprint(self.data.test)

    @property
    def name(self) -> str:
        """The name of the encoder that comes out."""
        base = (
            encoders.get(self.settings.base).spec.name
            if self.is_fine_tuning
            else self.settings.base
        )
        name = self.settings.name or f"{base}-{self.data.name}"
        return re.sub(r"[^A-Za-z0-9._-]", "-", name)[:100]

    @cached_property
    def identity(self) -> str:
        """Digest of all that the weights depend on."""
        base = self.settings.base
        if self.is_fine_tuning:
            base = encoders.get(base).spec.key
        recipe = self.recipe.model_dump_json()
        return digest("train", _VERSION, base, recipe, self.data.fingerprint)


def open_input(settings: Settings, data: Path, test: Path | None) -> TrainingInput:
    """Return the data of a training, checked and read."""
    check_training(settings, {"data": data}, test)
    opened = TrainingInput(data.resolve(), test and test.resolve(), settings.training)
    _ = opened.data
    return opened


class TrainedEncoder(Record):
    """A trained encoder.

    Attributes:
        name: Its name.
        folder: Its folder.
    """

    name: str
    folder: Path

    @property
    def test(self) -> Path:
        """The test queries of its data, a BEIR folder."""
        return self.folder / TEST

    @property
    def reference(self) -> str:
        """The name by which other commands read it."""
        return f"checkpoint:{self.name}={self.folder}"


class WrittenTraining(Record):
    """A written report.

    Attributes:
        encoder: The encoder.
        page: The report.
        leaderboard: The page of all methods.
    """

    encoder: TrainedEncoder
    page: Path
    leaderboard: Path


def _folder(inputs: TrainingInput, settings: PublishSettings) -> Path:
    return settings.folder.resolve() / "encoders" / inputs.name


def _is_trained(inputs: TrainingInput, folder: Path) -> bool:
    is_there = (folder / TRAINED).is_file() and (folder / FIGURES).is_file()
    return is_there and read_description(folder).recipe_hash == inputs.identity


def _is_done(p: Parameters) -> bool:
    folder = _folder(p.inputs, p.publish)
    return _is_trained(p.inputs, folder) and read_training(folder).tested == p.inputs.tested


@stage(
    "train",
    "train {inputs.settings.base}",
    key=lambda p: digest(
        "train",
        p.database.store_id,
        p.inputs.identity,
        p.inputs.tested,
        str(_folder(p.inputs, p.publish)),
    ),
    is_valid=_is_done,
    retries=VECTORS_AWAY,
)
def train_encoder(
    database: Database,  # noqa: ARG001 - of the key
    inputs: TrainingInput,
    publish: PublishSettings,
    ray: RaySettings,
) -> TrainedEncoder:
    """Train the model, unless its folder has it, and write its folder.

    A run that failed left checkpoints in a hidden folder, from which this one resumes; a concurrent
    run of the same training is waited for.
    """
    folder = _folder(inputs, publish)
    work = folder.with_name(f".{folder.name}.{inputs.identity[:12]}")
    with locked(work / "lock"):
        if _is_trained(inputs, folder):
            _write_folder(inputs, folder, folder, read_training(folder).history)
        elif folder.exists():
            raise SettingsError(
                f"{folder} holds an encoder of another base, recipe or data, or something else: "
                "give --name, or move the folder away"
            )
        else:
            job = TrainingJob(inputs.base, inputs.recipe, inputs.data.train, inputs.data.dev, work)
            _write_folder(inputs, job.model_folder, folder, _trained(job, inputs, ray))
        shutil.rmtree(work)
    return TrainedEncoder(name=folder.name, folder=folder)


def _trained(job: TrainingJob, inputs: TrainingInput, settings: RaySettings) -> History:
    """Train, with progress in the log and the Prefect UI; the model lies in the job's folder."""
    data, logger = inputs.data, get_run_logger()
    logger.info(
        "%s: %s, %s dev and %s over %s; %s of dev or test queries left out",
        data.name,
        counted(len(data.train), "training pairs"),
        f"{len(data.dev.queries):,}",
        counted(len(data.test.queries), "test queries"),
        counted(len(data.test.codes), "codes"),
        counted(data.dropped, "training pairs"),
    )
    job.model_folder.mkdir(parents=True, exist_ok=True)
    steps = -(-len(data.train) // job.recipe.batch_size) * job.recipe.epochs
    ensure_ray(settings)
    with progress(artifact_key("train", inputs.name), "training steps", steps) as bar:

        def show(step: TrainingProgress) -> None:
            if step.loss is not None:
                bar.note = f"loss {step.loss:.4f}"
            if step.score is not None:
                logger.info("epoch %.0f: dev %s %.4f", step.epoch, job.recipe.metric, step.score)
            bar.advance(step.step - bar.done)

        return train_on_ray(job, show)


def _write_folder(inputs: TrainingInput, model: Path, folder: Path, history: History) -> None:
    """Replace the folder by the model, its description and the test queries."""
    data, base = inputs.data, inputs.base
    spec = None if isinstance(base, str) else base.spec
    licences = {*data.licences, *([spec.licence] if spec else [])}
    description = Description(
        kind=TRANSFORMER if spec else str(base),
        reading=spec.model_dump(mode="json", exclude=IDENTITY) if spec else {},
        dimension=history.dimension,
        recipe=inputs.recipe,
        recipe_hash=inputs.identity,
        base={"name": spec.name, "model": spec.model, "revision": spec.revision} if spec else {},
        data=data.name,
        data_fingerprint=data.fingerprint,
        licences=tuple(sorted(licences)),
    )
    report = TrainingReport(
        name=folder.name,
        description=description,
        pairs=len(data.train),
        dropped=data.dropped,
        dev_queries=len(qrels_of(data.dev.labels)),
        history=history,
        tested=inputs.tested,
    )

    def own(written: Path) -> list[str]:
        files = written.rglob("*") if (written / TRAINED).is_file() else ()
        return [str(file.relative_to(written)) for file in files]

    with space_on(folder.parent, OTHER_OUTPUT), atomic_folder(folder, own) as partial:
        shutil.copytree(model, partial, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*_OTHERS))
        write_description(partial, description)
        write_queries(partial, data.train.queries)
        write_beir(data.test, partial / TEST)
        (partial / FIGURES).write_text(report.model_dump_json(indent=1) + "\n", "utf-8")


@stage("write-training", "report on {trained.name}")
def write_training(
    trained: TrainedEncoder,
    benchmark: OpenBenchmark,
    runs: list[Run],
    settings: EvaluationSettings,
) -> TrainingReport:
    """Write the report into the encoder's folder: recipe, epochs, gains with intervals."""
    qrels, metrics = qrels_of(benchmark.content.labels), settings.metrics or GAINED
    report, name = read_training(trained.folder), benchmark.name
    tested = [
        (
            report.place(name) if method == trained.name else Place(name, method),
            query_values(ranked, qrels, metrics),
        )
        for method, ranked in read_rankings(benchmark, runs).items()
    ]
    tested.sort(key=lambda each: each[0] == report.place(name))
    report = report.model_copy(update={"gains": training_figures(tested, of_one=True)})
    figures = {FIGURES: report.model_dump_json(indent=1) + "\n"}
    key = artifact_key("training", trained.name)
    document = training_document(report)
    write_pages(trained.folder, "training", document, figures, key=key, about=trained.name)
    return report


def read_training(folder: Path) -> TrainingReport:
    """Return the report in a trained folder.

    Raises:
        SettingsError: Another release has written it.
    """
    file = folder / FIGURES
    try:
        return TrainingReport.model_validate_json(file.read_text("utf-8"))
    except ValidationError:
        raise SettingsError(
            f"{file} was not written by this release: give another --name to train again; the "
            f"encoder itself can be used, as checkpoint:{folder}"
        ) from None
