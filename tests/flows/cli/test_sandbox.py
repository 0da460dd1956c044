"""``cosqa sandbox``: what a person types, and what is printed.

Covers `tasks.stages.sandbox`.
"""

import contextlib

import docker
import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from infra.settings import SandboxSettings
from sandbox.backends.docker.owners import owner_name, this_owner
from sandbox.contract import BEHAVIOURS
from sandbox.contract.check import CheckResult
from tasks.stages import sandbox as stage

runner = CliRunner()


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
