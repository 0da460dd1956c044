"""The KAPE study from end to end, on texts whose vectors count words.

Covers `flows.study` and `tasks.stages.study.kape`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flows.study import study_kape
from infra.errors import (
    EstimationError,
    SettingsError,
    SourceError,
    UnknownNameError,
)
from infra.settings import SearchSettings, Settings
from tasks.estimation.study import StudyFigures, study_figures
from tasks.inputs.formats.pair_files import NOT_RELEVANT
from tasks.stages.study.kape import read_kape_report
from tasks.stages.vectors import KINDS
from tests.flows.estimation import (
    embedded,
    open_store,
    pair,
    pairs_file,
    settings_in,
    store_vectors,
)

TRAIN = [pair(number) for number in range(60)]
TEST = [*(pair(number) for number in range(1_000, 1_022)), TRAIN[0], (TRAIN[1][0].upper(), "x()")]
ENCODERS = ("minilm", "codet5p")

pytestmark = pytest.mark.usefixtures("prefect_server")


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A folder with a data set, and a store that has its vectors by two encoders."""
    (tmp_path / "docs").mkdir()
    pairs_file(tmp_path / "docs" / "train.jsonl", TRAIN)
    pairs_file(tmp_path / "docs" / "test.jsonl", TEST)
    for encoder in ENCODERS:
        embedded(open_store(tmp_path), encoder, TRAIN + TEST)
    return tmp_path


def settings(folder: Path, *encoders: str) -> Settings:
    chosen = SearchSettings(encoders=encoders or ("minilm",))
    return settings_in(folder).model_copy(update={"search": chosen})


def run(folder: Path, *encoders: str, **data: Path) -> Path:
    return study_kape(data or {"docs": folder / "docs"}, settings(folder, *encoders))


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[StudyFigures]:
    """The figures that are computed, in order."""
    figures: list[StudyFigures] = []

    def recorded(*arguments: Any) -> StudyFigures:
        figures.append(study_figures(*arguments))
        return figures[-1]

    monkeypatch.setattr("tasks.stages.study.kape.study_figures", recorded)
    return figures


def test_methods_are_studied_stored_and_shown_and_not_computed_again(
    world: Path, computed: list[StudyFigures]
) -> None:
    written = run(world, *ENCODERS)
    report = read_kape_report(written)
    assert [each.method for each in report.studied] == list(ENCODERS)
    first = report.studied[0]
    assert (first.figures.training, first.figures.queries) == (60, 24)
    assert first.overlap.model_dump() == {"queries": 2, "pairs": 1, "of": 24}
    page = (written / "kape.html").read_text()
    assert all(method in page for method in ENCODERS)
    assert "| docs, minilm |" in (written / "kape.md").read_text()
    assert len(computed) == len(ENCODERS)
    assert read_kape_report(run(world, *ENCODERS)).studied == report.studied
    assert len(computed) == len(ENCODERS)

    again = run(world, "minilm", renamed=world / "docs", other=world / "docs")
    assert again.name == "renamed+other"
    names = {each.name: each.figures for each in read_kape_report(again).studied}
    assert names == {"renamed": first.figures, "other": first.figures}


def test_changed_pairs_are_studied_again(world: Path, computed: list[StudyFigures]) -> None:
    run(world)
    with (world / "docs" / "test.jsonl").open("a") as file:
        file.write('{"query": "q", "code": "c", "label": 0}\n')
    assert read_kape_report(run(world)).studied[0].left_out == {NOT_RELEVANT: 1}
    pairs_file(world / "docs" / "test.jsonl", TEST[:9])
    assert read_kape_report(run(world)).studied[0].figures.queries == 9
    assert len(computed) == 3


def test_validation_pairs_are_ranked_among_themselves_where_the_folder_has_them(
    world: Path,
) -> None:
    without = read_kape_report(run(world)).studied[0].figures
    assert (without.validation, without.validation_truth) == (0, {})
    pairs_file(world / "docs" / "valid.jsonl", TEST)
    figures = read_kape_report(run(world)).studied[0].figures
    assert figures.validation == len(TEST)
    assert figures.validation_truth == figures.whole.truth, "they are the test pairs"
    (world / "docs" / "valid").mkdir()
    with pytest.raises(SourceError, match=r"has valid and valid\.jsonl: move all but one away"):
        run(world)


def test_vectors_without_a_number_are_refused_with_the_encoder(world: Path) -> None:
    for kind, texts in zip(KINDS, zip(*TRAIN, strict=True), strict=True):
        spoilt = np.full((len(texts), 32), np.nan, np.float32)
        store_vectors(open_store(world), "minilm", kind, texts, spoilt)
    with pytest.raises(EstimationError, match=r"minilm, pairs of train: .*hold NaN"):
        run(world)


def without_code(docs: Path) -> None:
    lines = (docs / "train.jsonl").read_text().splitlines()
    lines[2] = json.dumps({"query": "sort"})
    (docs / "train.jsonl").write_text("\n".join(lines))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda docs: (docs / "train.jsonl").write_text(""), "train.jsonl holds no pairs"),
        (lambda docs: (docs / "test.jsonl").unlink(), "docs has no test pairs"),
        (without_code, r"train\.jsonl:3: the pair has no code"),
    ],
)
def test_a_data_set_without_pairs_is_refused_with_the_way_out(
    world: Path, change: Callable[[Path], object], message: str
) -> None:
    change(world / "docs")
    with pytest.raises(SourceError, match=message):
        run(world)
    assert not (world / "out").exists()


def test_names_that_cannot_be_are_refused(world: Path) -> None:
    with pytest.raises(SettingsError, match="no data set is given"):
        study_kape({}, settings(world))
    with pytest.raises(SettingsError, match=r"cannot be called '\.\./x'"):
        study_kape({"../x": world / "docs"}, settings(world))
    with pytest.raises(UnknownNameError, match="unknown encoder 'bm25'"):
        run(world, "bm25")
