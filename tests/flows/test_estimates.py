"""Estimates and the KAPE study from end to end, on texts whose vectors count words.

Covers `tasks.stages.estimate`, `flows.estimate`, `flows.cli.evaluation`, `flows.study` and
`tasks.stages.study.kape`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from flows.cli.evaluation import print_estimate
from flows.estimate import estimate
from flows.study import study_kape
from infra.errors import EstimationError, SettingsError, SourceError, UnknownNameError
from infra.settings import SearchSettings, Settings
from tasks.estimation.study import StudyFigures, study_figures
from tasks.inputs.formats.pair_files import NOT_RELEVANT
from tasks.reports.estimation import MethodEstimate
from tasks.runtime.input_checks import check_estimate
from tasks.stages import estimate as stage
from tasks.stages.estimate import estimate_scores, read_report
from tasks.stages.study.kape import read_kape_report
from tasks.stages.vectors import KINDS
from tests.flows.estimation import (
    embedded,
    open_store,
    pair,
    pairs_file,
    settings_in,
    store_vectors,
    write_lines,
)

pytestmark = pytest.mark.usefixtures("prefect_server")


TRAIN = [pair(number) for number in range(150)]
ASKED = [pair(number) for number in range(1_000, 1_100)]
DOCS = TRAIN[:60]
TEST = [*ASKED[:22], DOCS[0], (DOCS[1][0].upper(), "x()")]
ENCODERS = ("minilm", "codet5p")


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A folder with training pairs, queries, a data set of both, and a store with their vectors."""
    pairs_file(tmp_path / "train.jsonl", TRAIN)
    write_lines(tmp_path / "asked.jsonl", ({"query": query} for query, _ in ASKED))
    (tmp_path / "docs").mkdir()
    pairs_file(tmp_path / "docs" / "train.jsonl", DOCS)
    pairs_file(tmp_path / "docs" / "test.jsonl", TEST)
    for encoder in ENCODERS:
        embedded(open_store(tmp_path), encoder, TRAIN + ASKED + TEST)
    return tmp_path


def run(folder: Path, *methods: str, **estimation: object) -> Path:
    settings = settings_in(folder, *methods, **estimation)
    return estimate(folder / "train.jsonl", folder / "asked.jsonl", settings)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods whose scores were estimated, each as often as they were."""
    found: list[str] = []

    def counted(method: str, *given: Any) -> MethodEstimate:
        made = estimate_scores(method, *given)
        found.append(method)
        return made

    monkeypatch.setattr(stage, "estimate_scores", counted)
    return found


def lines(file: Path) -> list[str]:
    return [json.loads(line)["query"] for line in file.read_text().splitlines()]


def test_methods_are_estimated_and_shown(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs_file(world / "train.jsonl", [*TRAIN, ASKED[0], ASKED[1]])
    done = run(world, *ENCODERS)
    report = read_report(done)
    assert [each.method for each in report.estimates] == list(ENCODERS)
    first = report.estimates[0]
    assert (first.queries, first.training) == (100, 152)
    assert any("Of 100 queries 2 are training queries, too" in note for note in report.notes)
    page = (done / "estimate.html").read_text()
    assert all(method in page for method in ENCODERS)
    assert "MRR" in (done / "estimate.md").read_text()
    capsys.readouterr()
    print_estimate(done)
    printed = capsys.readouterr().out
    for words in ("scores: asked\n100 queries", "codet5p", "Of 100 queries 2 are"):
        assert words in printed


@pytest.mark.exhaustive
def test_a_second_run_computes_nothing_and_other_options_do(
    world: Path, computed: list[str]
) -> None:
    first = run(world, "minilm")
    assert run(world, "minilm") == first
    assert len(computed) == 1
    page = (first / "estimate.html").read_bytes()
    assert run(world, "minilm", k=3) != first
    assert (first / "estimate.html").read_bytes() == page, "each command has its own report"
    assert len(computed) == 2


LABELLED_0 = {"query": "q", "code": "c", "label": 0}
NO_CODE = [{"query": "q", "code": "c"}, {"query": "r"}]


@pytest.mark.parametrize(
    ("file", "rows", "message"),
    [
        ("train", [LABELLED_0], r"train.jsonl holds no pairs .*1 x pair labelled 0"),
        ("train", NO_CODE, r"train.jsonl:2: the pair has no code"),
    ],
)
def test_bad_texts_are_told_and_leave_nothing_half_written(
    world: Path, computed: list[str], file: str, rows: list[dict[str, object]], message: str
) -> None:
    write_lines(world / f"{file}.jsonl", rows)
    with pytest.raises(SourceError, match=message):
        run(world, "minilm")
    assert computed == []
    assert not (world / "out" / "estimates").exists()


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("bm25", "bm25 cannot be estimated: it has no query vectors.* give --method an encoder"),
        ("bm25+minilm", "bm25.minilm cannot be estimated"),
        ("bm26", "unknown retrieval method 'bm26'"),
    ],
)
def test_a_method_without_query_vectors_is_refused(
    tmp_path: Path, method: str, message: str
) -> None:
    with pytest.raises((SettingsError, UnknownNameError), match=message):
        check_estimate(settings_in(tmp_path, method), [])


def test_metrics_and_paths_are_checked_before_anything_is_read(world: Path) -> None:
    with pytest.raises(UnknownNameError, match="'MAP' cannot be estimated: MRR, "):
        check_estimate(settings_in(world, metrics=["MAP"]), [])
    settings = settings_in(world)
    with pytest.raises(SourceError, match="absent cannot be read: there is no such file or folder"):
        check_estimate(settings, [world / "train.jsonl", world / "absent"])
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        settings_in(world, k=0)


def settings(folder: Path, *encoders: str) -> Settings:
    chosen = SearchSettings(encoders=encoders or ("minilm",))
    return settings_in(folder).model_copy(update={"search": chosen})


def study(folder: Path, *encoders: str, **data: Path) -> Path:
    return study_kape(data or {"docs": folder / "docs"}, settings(folder, *encoders))


@pytest.fixture
def studied(monkeypatch: pytest.MonkeyPatch) -> list[StudyFigures]:
    """The figures that are studied, in order."""
    figures: list[StudyFigures] = []

    def recorded(*arguments: Any) -> StudyFigures:
        figures.append(study_figures(*arguments))
        return figures[-1]

    monkeypatch.setattr("tasks.stages.study.kape.study_figures", recorded)
    return figures


@pytest.mark.exhaustive
def test_methods_are_studied_stored_and_shown_and_not_computed_again(
    world: Path, studied: list[StudyFigures]
) -> None:
    written = study(world, *ENCODERS)
    report = read_kape_report(written)
    assert [each.method for each in report.studied] == list(ENCODERS)
    first = report.studied[0]
    assert (first.figures.training, first.figures.queries) == (60, 24)
    assert first.overlap.model_dump() == {"queries": 2, "pairs": 1, "of": 24}
    page = (written / "kape.html").read_text()
    assert all(method in page for method in ENCODERS)
    assert "| docs, minilm |" in (written / "kape.md").read_text()
    assert len(studied) == len(ENCODERS)
    assert read_kape_report(study(world, *ENCODERS)).studied == report.studied
    assert len(studied) == len(ENCODERS)

    again = study(world, "minilm", renamed=world / "docs", other=world / "docs")
    assert again.name == "renamed+other"
    names = {each.name: each.figures for each in read_kape_report(again).studied}
    assert names == {"renamed": first.figures, "other": first.figures}


@pytest.mark.exhaustive
def test_changed_pairs_are_studied_again(world: Path, studied: list[StudyFigures]) -> None:
    study(world)
    with (world / "docs" / "test.jsonl").open("a") as file:
        file.write('{"query": "q", "code": "c", "label": 0}\n')
    assert read_kape_report(study(world)).studied[0].left_out == {NOT_RELEVANT: 1}
    pairs_file(world / "docs" / "test.jsonl", TEST[:9])
    assert read_kape_report(study(world)).studied[0].figures.queries == 9
    assert len(studied) == 3


@pytest.mark.exhaustive
def test_validation_pairs_are_ranked_among_themselves_where_the_folder_has_them(
    world: Path,
) -> None:
    without = read_kape_report(study(world)).studied[0].figures
    assert (without.validation, without.validation_truth) == (0, {})
    pairs_file(world / "docs" / "valid.jsonl", TEST)
    figures = read_kape_report(study(world)).studied[0].figures
    assert figures.validation == len(TEST)
    assert figures.validation_truth == figures.whole.truth, "they are the test pairs"
    (world / "docs" / "valid").mkdir()
    with pytest.raises(SourceError, match=r"has valid and valid\.jsonl: move all but one away"):
        study(world)


def test_vectors_without_a_number_are_refused_with_the_encoder(world: Path) -> None:
    for kind, texts in zip(KINDS, zip(*DOCS, strict=True), strict=True):
        spoilt = np.full((len(texts), 32), np.nan, np.float32)
        store_vectors(open_store(world), "minilm", kind, texts, spoilt)
    with pytest.raises(EstimationError, match=r"minilm, pairs of train: .*hold NaN"):
        study(world)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda docs: (docs / "train.jsonl").write_text(""), "train.jsonl holds no pairs"),
        (lambda docs: (docs / "test.jsonl").unlink(), "docs has no test pairs"),
    ],
)
def test_a_data_set_without_pairs_is_refused_with_the_way_out(
    world: Path, change: Callable[[Path], object], message: str
) -> None:
    change(world / "docs")
    with pytest.raises(SourceError, match=message):
        study(world)
    assert not (world / "out").exists()


def test_names_that_cannot_be_are_refused(world: Path) -> None:
    with pytest.raises(SettingsError, match="no data set is given"):
        study_kape({}, settings(world))
    with pytest.raises(SettingsError, match=r"cannot be called '\.\./x'"):
        study_kape({"../x": world / "docs"}, settings(world))
    with pytest.raises(UnknownNameError, match="unknown encoder 'bm25'"):
        study(world, "bm25")
