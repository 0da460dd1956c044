"""The stage that trains: what its folder holds, what is refused, and what is not done twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from infra.errors import CosqaError, SettingsError
from infra.settings import PublishSettings, Settings, StoreSettings, TrainingSettings
from infra.store import open_database
from infra.text import words
from tasks.benchmarks import write_benchmark
from tasks.encoders import Vectors, encoders
from tasks.encoders._reference import content_digest
from tasks.runtime.caching import is_done
from tasks.runtime.input_checks import check_training
from tasks.stages import train as stage
from tasks.stages.train import TrainedEncoder, TrainingInput, train_encoder
from tasks.training import trainer
from tasks.training.recipes import History, TrainingJob, TrainingProgress
from tests.tasks.reports.cases import benchmark as forty_queries
from tests.tasks.training.world import checkpoint, inputs_of, rows, vectors_of, write_lines

TEXTS = ["read a file 7", "def add(a, b):\n    return a + b", "", "sort"]
MODELS = (
    "cnn", "cnn-self-attention", "deepcs", "neural-bag-of-words", "rnn", "self-attention",
    "tok-att", "unif",
)  # fmt: skip


class NoBar:
    """A progress bar that shows nothing."""

    done = 0
    note = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def advance(self, steps: int) -> None:
        self.done += steps


def train_here(job: TrainingJob, emit: Callable[[TrainingProgress], None]) -> History:
    """Train in this process."""
    model, history = trainer.train(job, emit)
    model.save(job.model_folder)
    return history


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch, quiet: None) -> None:
    """Train in this process, without a flow."""
    monkeypatch.setattr(stage, "train_on_ray", train_here)
    monkeypatch.setattr(stage, "ensure_ray", lambda _: None)
    monkeypatch.setattr(stage, "progress", lambda *_: NoBar())


@pytest.fixture
def trained_models(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The models as they were when training ended."""
    models: list[Any] = []
    train = trainer.train

    def kept(*arguments: Any) -> Any:
        models.append(train(*arguments))
        return models[-1]

    monkeypatch.setattr(trainer, "train", kept)
    return models


def settings_in(folder: Path) -> Settings:
    return Settings(
        store=StoreSettings(folder=folder / "store"), publish=PublishSettings(folder=folder / "out")
    )


def run(folder: Path, inputs: TrainingInput) -> TrainedEncoder:
    settings = settings_in(folder)
    trained: TrainedEncoder = train_encoder.fn(
        open_database(settings.store), inputs, settings.publish, settings.ray
    )
    return trained


def small(folder: Path, name: str = "mine", **settings: Any) -> TrainingInput:
    if not (folder / "base").exists():
        checkpoint("roberta-base", folder / "base", dropout=0.1)
    base = f"checkpoint:small={folder / 'base'}?pooling=mean"
    quick: dict[str, Any] = {"base": base, "epochs": 1, "batch_size": 8, "name": name}
    return inputs_of(folder, **quick | settings)


def encoded(reference: str, kind: Any) -> Vectors:
    return encoders.get(reference)().encode(TEXTS, kind, 0)


@pytest.mark.parametrize("recipe", ["cosqa-plus", "codexglue"])
def test_the_folder_is_an_encoder_with_the_vectors_of_the_trained_model(
    tmp_path: Path, trained_models: list[Any], recipe: str
) -> None:
    inputs = small(tmp_path, recipe=recipe, learning_rate=1e-3)
    trained = run(tmp_path, inputs)
    (model, history) = trained_models[0]
    for kind in ("query", "code"):
        expected = vectors_of(model, TEXTS, kind, inputs.recipe.similarity)
        np.testing.assert_allclose(encoded(trained.reference, kind), expected, atol=1e-5)
    told = json.loads((trained.folder / "encoder.json").read_text())
    base = encoders.get(inputs.settings.base).spec
    assert told["recipe_hash"] == inputs.identity
    assert told["recipe"] == inputs.recipe.model_dump()
    assert told["base"] == {"name": "small", "model": "checkpoint", "revision": base.revision}
    assert told["licences"] == ["unknown"]
    assert told["data_fingerprint"] == inputs.data.fingerprint
    report = stage.read_training(trained.folder)
    assert (report.history, report.gains, report.pairs) == (history, (), 32)
    assert not [file for file in trained.folder.parent.iterdir() if file != trained.folder]


def test_what_was_fine_tuned_is_fine_tuned_again(tmp_path: Path) -> None:
    first = run(tmp_path, small(tmp_path, learning_rate=1e-3))
    again = run(tmp_path, small(tmp_path, name="again", base=first.reference, recipe="kape"))
    told = json.loads((again.folder / "encoder.json").read_text())
    assert told["base"]["name"] == "mine"
    assert told["recipe"]["name"] == "kape"
    assert encoded(again.reference, "code").shape == encoded(first.reference, "code").shape
    assert not np.allclose(encoded(again.reference, "code"), encoded(first.reference, "code"))


def test_figures_of_another_release_are_told_and_the_encoder_stays(tmp_path: Path) -> None:
    inputs = small(tmp_path, learning_rate=1e-3)
    trained = run(tmp_path, inputs)
    (trained.folder / stage.FIGURES).write_text('{"gains": {"MRR": 1}}')
    with pytest.raises(SettingsError, match=r"not written by this release.* as checkpoint:"):
        run(tmp_path, inputs)
    assert encoded(trained.reference, "code").shape == (len(TEXTS), 16)


def test_the_folder_is_read_by_options_too(tmp_path: Path) -> None:
    trained = run(tmp_path, small(tmp_path))
    whole = encoded(trained.reference, "code")
    cut = encoded(f"{trained.reference}?pooling=first", "code")
    assert cut.shape == whole.shape
    assert not np.allclose(cut, whole)
    spec = encoders.get(trained.reference).spec
    assert (spec.dimension, spec.similarity) == (16, "cosine")


@pytest.mark.parametrize(
    "base", ["ncs", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in MODELS)]
)
def test_each_model_that_begins_with_nothing_is_an_encoder(
    tmp_path: Path, trained_models: list[Any], base: str
) -> None:
    inputs = inputs_of(tmp_path, base, epochs=1, batch_size=8)
    trained = run(tmp_path, inputs)
    assert trained.name == f"{base}-pairs"
    (model, _) = trained_models[0]
    for kind in ("query", "code"):
        expected = vectors_of(model, TEXTS, kind, inputs.recipe.similarity)
        np.testing.assert_allclose(encoded(trained.reference, kind), expected, atol=1e-5)
    told = json.loads((trained.folder / "encoder.json").read_text())
    assert (told["kind"], told["base"], told["reading"]) == (base, {}, {})
    assert encoders.get(trained.reference).spec.source.startswith(inputs.recipe.source)


@pytest.mark.parametrize("form", ["lines", "export", "parts"])
def test_a_corpus_without_a_question_trains_a_model_of_code_alone(
    tmp_path: Path, form: str
) -> None:
    lines = [{"code": f"def seek_mail(x):\n    return corpusword(x, {n})"} for n in range(9)]
    data = write_lines(tmp_path / "corpus.jsonl", lines)
    if form == "export":
        data = tmp_path / "benchmark"
        write_benchmark(forty_queries(), data)
    elif form == "parts":
        data = write_lines(tmp_path / "parts" / "train.jsonl", rows(9)).parent
    test = run(tmp_path / "other", inputs_of(tmp_path, "ncs", name="other")).test
    inputs = TrainingInput(data, test, TrainingSettings(base="ncs", name="corpus"))
    assert inputs.data.train.queries == ()
    trained = run(tmp_path, inputs)
    known = set(json.loads((trained.folder / "words.json").read_text()))
    assert ("corpusword" in known) == (form == "lines")
    texts = (*inputs.data.train.codes, *(code.text for code in inputs.data.test.codes))
    assert known <= {word for text in texts for word in words(text)}


def test_the_same_training_gives_the_same_folder_and_is_not_done_twice(
    tmp_path: Path, trained_models: list[Any]
) -> None:
    trained = run(tmp_path, small(tmp_path))
    first = content_digest(trained.folder)
    again = run(tmp_path, small(tmp_path))
    assert again == trained
    assert len(trained_models) == 1
    other = run(tmp_path / "other", small(tmp_path))
    assert len(trained_models) == 2
    assert content_digest(other.folder) == first == content_digest(trained.folder)
    database = open_database(settings_in(tmp_path).store)
    inputs: dict[str, Any] = {"database": database, "publish": settings_in(tmp_path).publish}
    assert is_done(train_encoder, inputs=small(tmp_path), **inputs)
    assert not is_done(train_encoder, inputs=small(tmp_path, seed=3), **inputs)


def test_other_test_queries_are_put_beside_the_same_model(
    tmp_path: Path, trained_models: list[Any]
) -> None:
    data = tmp_path / "data"
    lines = rows(60)
    for number, part in enumerate(("train", "dev", "test")):
        write_lines(data / f"{part}.jsonl", lines[number * 20 : number * 20 + 20])
    inputs = small(tmp_path)
    first = run(tmp_path, TrainingInput(data, None, inputs.settings))
    encoder = content_digest(first.folder)
    own = (first.folder / "test" / "queries.jsonl").read_text()
    for folder in (first.folder / "test", None):
        other = tmp_path / "test"
        if folder:
            folder.rename(other)
            (other / "qrels" / "test.tsv").write_text(
                "\n".join((other / "qrels" / "test.tsv").read_text().splitlines()[:8]) + "\n"
            )
        run(tmp_path, TrainingInput(data, other if folder else None, inputs.settings))
        judged = (first.folder / "test" / "qrels" / "test.tsv").read_text().splitlines()[1:]
        assert len(judged) == (7 if folder else 20)
    assert (first.folder / "test" / "queries.jsonl").read_text() == own
    assert len(trained_models) == 1
    assert content_digest(first.folder) == encoder


@pytest.mark.parametrize("change", ["recipe", "file", "folder"])
def test_a_folder_of_something_else_is_refused_before_training(
    tmp_path: Path, trained_models: list[Any], change: str
) -> None:
    place = tmp_path / "out" / "encoders" / "mine"
    if change == "recipe":
        run(tmp_path, small(tmp_path))
    elif change == "file":
        place.parent.mkdir(parents=True)
        place.write_text("mine")
    else:
        place.mkdir(parents=True)
        (place / "thesis.tex").write_text("mine")
    before = len(trained_models)
    with pytest.raises(SettingsError, match="something else: give --name"):
        run(tmp_path, small(tmp_path, recipe="codexglue"))
    assert len(trained_models) == before
    assert place.is_file() or (place / "thesis.tex").is_file() or (place / "encoder.json").is_file()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base": "jina-embeddings-v3"}, "adapters are not trained"),
        ({"base": "text-embedding-3-large"}, "no transformer whose weights are here"),
        ({"base": "codebert-search"}, "--base codebert-base --recipe codexglue"),
        ({"base": "codexglue"}, "--base roberta-base --recipe codexglue"),
        ({"base": "cnm"}, "unknown base 'cnm'.*unixcoder.*cnn"),
        ({"base": "ncs", "recipe": "kape"}, "ncs is made of all pairs at once: leave --recipe"),
        ({"recipe": "cosqa"}, "unknown recipe 'cosqa'.*cosqa-plus"),
        ({"name": "MiniLM"}, "--name MiniLM is that of another method"),
        ({"name": "bm25"}, "--name bm25 is that of another method"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_anything_starts(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    inputs = inputs_of(tmp_path, "minilm")
    training = inputs.settings.model_copy(update=change)
    settings = settings_in(tmp_path).model_copy(update={"training": training})
    with pytest.raises(CosqaError, match=message):
        check_training(settings, {"own": inputs.path})


def test_a_changed_recipe_is_another_identity(tmp_path: Path) -> None:
    seen = {small(tmp_path).identity}
    for change in ({"epochs": 2}, {"batch_size": 9}, {"learning_rate": 1e-4}, {"seed": 1}):
        seen.add(small(tmp_path, **change).identity)
    seen.add(small(tmp_path, recipe="codexglue").identity)
    assert len(seen) == 6
