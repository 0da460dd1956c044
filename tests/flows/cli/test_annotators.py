"""The command that compares annotators, run in this process on fakes.

Covers `flows.compare_annotators`.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.annotators import print_scores
from flows.cli.app import app
from sandbox.backends import backends
from tasks.stages.compare_annotators import AnnotatorScore
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.fakes.sandbox import PASSED, FakeSandbox
from tests.flows.world import read

ITEMS = [
    {"query": "add", "code": "def f(a, b): return a + b", "label": 1, "labels": {"people": 1}},
    {"query": "subtract", "code": "def f(a, b): return a + b", "label": 0, "labels": {"people": 0}},
]


@pytest.fixture
def truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefect_server: str) -> Iterator[Path]:
    """A file of two pairs, with a scripted model that finds every code fitting."""
    file = tmp_path / "truth.jsonl"
    file.write_text("".join(f"{json.dumps(item)}\n" for item in ITEMS))
    backends.register("nowhere")(lambda settings: FakeSandbox(lambda program, installed: PASSED))
    script = [read("answers")]
    with ScriptedServer(script) as server:
        monkeypatch.setenv("COSQA_LLM__BASE_URL", server.base_url)
        monkeypatch.setenv("COSQA_LLM__API_KEY", KEY)
        monkeypatch.setenv("COSQA_SANDBOX__BACKEND", "nowhere")
        yield file
    del backends._entries["nowhere"]


def test_the_figures_of_people_and_models_are_printed_and_written(
    truth: Path, tmp_path: Path
) -> None:
    figures = tmp_path / "figures.json"
    options = ["--model", "openai/scripted", "--configuration", "single"]
    places = ["--store", str(tmp_path / "store"), "--output", str(figures)]
    command = ["compare-annotators", "--truth", str(truth)]
    outcome = CliRunner().invoke(app, [*command, *options, *places])
    assert outcome.exit_code == 0, outcome.output
    people, single = json.loads(figures.read_text())
    assert (people["name"], people["accuracy"]) == ("people", 1.0)
    assert (single["name"], single["model"]) == ("single", "openai/scripted")
    assert (single["usd"], single["accuracy"]) == (None, 0.5)
    shown = [" ".join(line.split()) for line in outcome.output.splitlines()]
    assert "openai/scripted against the known labels" in shown
    assert "people 2 of 2 1.000 0.342 to 1.000 - - - -" in shown
    assert any(line.startswith("single 2 of 2 0.500 0.095 to 0.905 0.000 - unk") for line in shown)


def score(name: str, model: str = "") -> AnnotatorScore:
    return AnnotatorScore(
        name=name, model=model, pairs=5, decided=4, accuracy=0.6, accuracy_low=0.2,
        accuracy_high=0.9, seconds=12.25,
    )  # fmt: skip


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_tables_fit_the_terminal_and_cut_no_figure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    people = "the median of four annotators who were asked by mail in autumn"
    print_scores([score("ann"), score(people), score("spec", "openai/m")], "figures.json")
    tables = capsys.readouterr().out.split("\ndecided:")[0].splitlines()
    assert max(map(len, tables)) <= width
    assert all("0.600" in line for line in tables if " of 5" in line), tables
    assert sum("4 of 5" in line for line in tables) == 3
    if width < 100:
        assert any("figures.json" in line for line in tables)
