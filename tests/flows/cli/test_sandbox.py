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
from sandbox.backends.docker.process_owner import this_owner
from sandbox.contract.behaviours import BEHAVIOURS

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


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.docker
def test_check_shows_engine_image_limits_and_every_behaviour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COSQA_SANDBOX__TIMEOUT_S", "2")
    monkeypatch.setenv("COLUMNS", "200")
    done = runner.invoke(app, ["sandbox", "check"])
    assert done.exit_code == 0, done.output
    assert SandboxSettings().image in done.stdout
    for word in ("Docker", "memory_mb", *(behaviour.name for behaviour in BEHAVIOURS)):
        assert word in done.stdout
    assert f"{len(BEHAVIOURS)} of {len(BEHAVIOURS)} checks passed" in done.stdout


@pytest.mark.docker
def test_clean_removes_what_the_dead_left_and_nothing_of_the_living() -> None:
    host = this_owner().split("/")[0]
    dead = {"cosqa.sandbox": "1", "cosqa.owner": f"{host}/{2**22 + 1}/1"}
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
