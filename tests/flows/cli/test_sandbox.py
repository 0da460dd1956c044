"""``cosqa sandbox``: what a person types, and what is printed.

Covers `tasks.stages.sandbox`.
"""

import contextlib
import json
from pathlib import Path

import docker
import pytest
from typer.testing import CliRunner

from flows.cli.main import app
from infra.settings import SandboxSettings
from sandbox.backends.docker.process_owner import owner_name, this_owner
from sandbox.contract.behaviours import BEHAVIOURS
from sandbox.contract.check import CheckResult
from tasks.stages import sandbox as stage
from tests.fakes.sandbox import PASSED, FakeSandbox

runner = CliRunner()


@pytest.fixture
def function(tmp_path: Path) -> Path:
    file = tmp_path / "function.py"
    file.write_text("def double(number):\n    return number + number\n")
    return file


@pytest.mark.docker
@pytest.mark.parametrize(
    ("assertion", "outcome", "status"),
    [("double(2) == 4", "passed", 0), ("double(2) == 5", "assertion_failed", 1)],
)
def test_run_prints_the_result_and_tells_by_its_status_whether_it_passed(
    tmp_path: Path, function: Path, assertion: str, outcome: str, status: int
) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"from target import double\nassert {assertion}\n")
    done = runner.invoke(app, ["sandbox", "run", str(program), "--code", str(function)])
    assert done.exit_code == status, done.output
    result = json.loads(done.stdout)
    assert (result["outcome"], result["target_calls"]) == (outcome, 1)


@pytest.mark.docker
def test_nothing_that_a_program_prints_steers_the_terminal(tmp_path: Path, function: Path) -> None:
    said = "\x9b31m \u202e \x1b]0;x\x07 \x7f [bold]x[/] :smile: ü \U000e0041"
    program = tmp_path / "program.py"
    program.write_text(f"print({said!r})\nassert False, {said!r}\n", "utf-8")
    done = runner.invoke(app, ["sandbox", "run", str(program), "--code", str(function)])
    assert done.stdout.isascii()
    assert done.stdout.replace("\n", "").isprintable()
    result = json.loads(done.stdout)
    assert result["stdout"].startswith("\x9b31m \u202e")
    assert "[bold]x[/] :smile: ü" in result["stdout"]
    assert "[bold]x[/]" in result["message"]


@pytest.mark.parametrize(
    ("program", "is_warned"),
    [("from target import double\n", False), ("import target as t\n", False),
     ("import importlib\nimportlib.import_module('target')\n", False),
     ("import os, target\n", False), ("assert double(2) == 4\n", True),
     ("import os  # the aim\n", True), ("from targets import double\n", True)],
)  # fmt: skip
def test_a_program_that_leaves_the_code_alone_is_told_how_to_import_it(
    tmp_path: Path, function: Path, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture, program: str, is_warned: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(stage, "make_sandbox", lambda _: FakeSandbox(lambda *_: PASSED))
    file = tmp_path / "program.py"
    file.write_text(program)
    done = runner.invoke(app, ["sandbox", "run", str(file), "--code", str(function)])
    assert done.exit_code == 0, done.output
    assert ("begin it with `from target import …`" in caplog.text) is is_warned
    caplog.clear()
    runner.invoke(app, ["sandbox", "run", str(file)])
    assert not caplog.text, "without code there is nothing to import"


def test_a_program_that_is_no_text_is_named_with_its_line(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_bytes(b"pass\n\xff\n")
    done = runner.invoke(app, ["sandbox", "run", str(program)])
    assert done.exit_code != 0
    assert "program.py:2: byte 0xff is not UTF-8" in str(done.exception)


def test_what_a_box_says_of_a_behaviour_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def results(*_: object) -> list[CheckResult]:
        return [CheckResult("a law", False, "printed '[bold]x[/]' [/] \x9b31m \u202e")]

    async def description(_: SandboxSettings) -> str:
        return "Docker [red]1\x9b[/]"

    monkeypatch.setattr(stage, "check_behaviours", results)
    monkeypatch.setattr(stage, "description", description)
    monkeypatch.setenv("COLUMNS", "200")
    done = runner.invoke(app, ["sandbox", "check"])
    assert done.exit_code == 1, done.output
    assert "printed '[bold]x[/]' [/] ⟨U+009B⟩31m ⟨U+202E⟩" in done.stdout
    assert "Docker [red]1⟨U+009B⟩[/]" in done.stdout


@pytest.mark.nightly
@pytest.mark.docker
def test_check_shows_engine_image_and_every_behaviour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    done = runner.invoke(app, ["sandbox", "check"])
    assert done.exit_code == 0, done.output
    assert SandboxSettings().image in done.stdout
    for word in ("Docker", *(behaviour.name for behaviour in BEHAVIOURS)):
        assert word in done.stdout
    assert f"{len(BEHAVIOURS)} of {len(BEHAVIOURS)} checks passed" in done.stdout


@pytest.mark.docker
def test_clean_removes_what_the_dead_left_and_nothing_of_the_living() -> None:
    dead = {"cosqa.sandbox": "1", "cosqa.owner": owner_name(2**22 + 1, "1")}
    living = {"cosqa.sandbox": "1", "cosqa.owner": this_owner()}
    with contextlib.closing(docker.from_env()) as client:
        left, kept = (client.volumes.create(labels=labels) for labels in (dead, living))
        try:
            done = runner.invoke(app, ["sandbox", "clean"])
            assert done.exit_code == 0, done.output
            assert done.stdout.startswith("removed ")
            names = {volume.name for volume in client.volumes.list()}
            assert left.name not in names
            assert kept.name in names
        finally:
            kept.remove()
