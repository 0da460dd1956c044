"""Estimates from end to end, on texts whose vectors count words.

Covers `tasks.stages.estimate`, `flows.estimate`, `flows.cli.evaluation`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from flows.cli.evaluation import print_estimate
from flows.estimate import estimate
from infra.errors import SettingsError, SourceError, UnknownNameError
from tasks.estimation.unlabelled import MethodEstimate, estimate_scores
from tasks.runtime.input_checks import check_estimate
from tasks.stages import estimate as stage
from tasks.stages.estimate import read_report
from tests.flows.estimation import (
    embedded,
    open_store,
    pair,
    pairs_file,
    settings_in,
    write_lines,
)

TRAIN = [pair(number) for number in range(150)]
ASKED = [pair(number) for number in range(1_000, 1_100)]
ENCODERS = ("minilm", "codet5p")

pytestmark = pytest.mark.usefixtures("prefect_server")


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A folder with training pairs, queries, and a store."""
    pairs_file(tmp_path / "train.jsonl", TRAIN)
    write_lines(tmp_path / "asked.jsonl", ({"query": query} for query, _ in ASKED))
    for encoder in ENCODERS:
        embedded(open_store(tmp_path), encoder, TRAIN + ASKED)
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
    world: Path,
    computed: list[str],
    file: str,
    rows: list[dict[str, object]],
    message: str,
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
