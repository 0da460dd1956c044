"""The command that compares annotators, run in this process on fakes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.annotators import app
from flows.cli.main import app as whole
from infra.errors import SettingsError
from sandbox.backends import backends
from tests.agents.conftest import rule
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.fakes.sandbox import PASSED, FakeSandbox

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
    script = [rule("judge", {"reply": {"reason": "r", "verdict": "answers"}})]
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
    outcome = CliRunner().invoke(app, ["compare", "--truth", str(truth), *options, *places])
    assert outcome.exit_code == 0, outcome.output
    chance, people, single = json.loads(figures.read_text())
    assert (chance["name"], chance["agreement"]["accuracy"]) == ("always 1", 0.5)
    assert (people["name"], people["agreement"]["accuracy"]) == ("people", 1.0)
    assert (single["name"], single["agreement"]["accuracy"]) == ("single · openai/scripted", 0.5)
    assert (single["usd"], single["agreement"]["recall"]) == (None, 1.0)
    shown = [" ".join(line.split()) for line in outcome.output.splitlines()]
    assert "openai/scripted against the truth" in shown
    assert "always 1 2 of 2 0.500 0.095 to 0.905 0.500 1.000 0.000 0.000" in shown
    assert "people 2 of 2 1.000 0.342 to 1.000 1.000 1.000 1.000 1.000" in shown
    assert "single 2 of 2 0.500 0.095 to 0.905 0.500 1.000 0.000 0.000" in shown
    assert any(line.startswith("single - - - ") and " unknown " in line for line in shown)
    assert max(map(len, outcome.output.splitlines())) <= 100


def test_an_unknown_configuration_is_told_with_those_that_exist(truth: Path) -> None:
    options = ["compare", "--truth", str(truth), "--configuration", "best"]
    outcome = CliRunner().invoke(app, options)
    assert isinstance(outcome.exception, SettingsError)
    assert "'best': must be one of single, arbiter" in str(outcome.exception)


def test_the_command_is_part_of_the_command_line() -> None:
    outcome = CliRunner().invoke(whole, ["annotators", "compare", "--help"])
    assert outcome.exit_code == 0
    assert "--truth" in outcome.output
