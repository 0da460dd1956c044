"""Laws of the small commands (list, settings, store, browse, suite, sandbox): what they print.

Covers `flows.cli.tools`, `flows.cli.maintenance`, `tasks.stages.sandbox`.
"""

import contextlib
import re
import signal
import subprocess
import time
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import docker
import httpx
import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from flows.cli.tools import Kind, browse
from infra.errors import SettingsError, SourceError, StoreError
from infra.settings import EvaluationSettings, SandboxSettings, StoreSettings
from infra.settings.sections import USUAL_METRICS
from infra.store import Database
from sandbox.backends.docker.owners import owner_name, this_owner
from sandbox.contract import BEHAVIOURS
from sandbox.contract.check import CheckResult
from tasks.encoders import encoders
from tasks.filters import filters
from tasks.metrics import metrics
from tasks.sources import sources
from tasks.stages import sandbox as stage
from tasks.suites import suites
from tests.fakes.stores import rows_of, whole_store
from tests.flows.world import COSQA
from tests.ports import free_port
from tests.tasks.suites.test_codesearchnet import ANNOTATIONS, PREDICTIONS, QUERIES
from tests.tasks.suites.test_neural_code_search import SHEET


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return whole_store(tmp_path / "store")


@pytest.fixture
def sheet(tmp_path: Path) -> str:
    """A score sheet of Neural Code Search."""
    (tmp_path / "sheet.csv").write_text(SHEET)
    return str(tmp_path / "sheet.csv")


def run(*words: str, status: int = 0) -> str:
    """Run a command; return what it printed, or raise its error."""
    done = CliRunner().invoke(app, words)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done.stdout


def of_store(settings: StoreSettings, *words: str, status: int = 0) -> str:
    return run("store", *words, "--store", str(settings.folder), status=status)


def said(*words: str) -> str:
    return " ".join(run("suite", *words).split())


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_is_listed_a_name_a_line_with_its_meaning(kind: str) -> None:
    lines = run("list", kind).splitlines()
    assert lines
    assert all(re.fullmatch(r"\S+( +\S.*\S)?", line) for line in lines)


@pytest.mark.parametrize(
    ("kind", "registry"),
    [("sources", sources), ("encoders", encoders), ("metrics", metrics), ("filters", filters)],
)
def test_the_list_is_the_registry(kind: str, registry: Iterable[str]) -> None:
    assert [line.split()[0] for line in run("list", kind).splitlines()] == list(registry)


def test_an_encoder_among_the_methods_is_listed_with_its_model_and_licence() -> None:
    lines = dict(line.split(maxsplit=1) for line in run("list", "methods").splitlines())
    assert "Robertson" in lines["bm25"]
    assert lines["codebert-base"].startswith("768 dimensions, MIT, microsoft/codebert-base")


def test_the_settings_are_toml_and_hold_what_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSQA_SEARCH__TOP_K", "7")
    assert tomllib.loads(run("settings"))["search"] == {"top_k": 7}


def test_the_usual_metrics_are_named_where_they_can_be_set() -> None:
    description = EvaluationSettings.model_fields["metrics"].description or ""
    assert ", ".join(USUAL_METRICS) in description


def test_misspelt_options_of_the_source_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSQA_SOURCE__FLITERS", "testable")
    with pytest.raises(SettingsError, match="did you mean 'filters'"):
        run("settings")


def test_a_source_whose_required_options_are_missing_has_settings_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COSQA_SOURCE__NAME", "jsonl")
    assert "# path =" in run("settings")


def test_a_whole_store_passes_its_check(database: Database) -> None:
    printed = of_store(database.settings, "check")
    assert "has no fault" in printed
    assert "6 annotations" in printed


def test_a_fault_is_said_with_what_to_do_and_the_exit_status_is_1(database: Database) -> None:
    with database.transaction() as tx:
        tx.execute("INSERT INTO annotations SELECT * FROM annotations LIMIT 1")
    printed = of_store(database.settings, "check", status=1)
    assert "FAULT" in printed
    assert "cosqa store restore" in printed


def test_a_backup_is_made_and_put_back(database: Database, tmp_path: Path) -> None:
    settings, folder = database.settings, str(tmp_path / "backup")
    rows = rows_of(settings.database)
    assert "cosqa store restore" in of_store(settings, "backup", folder)
    with pytest.raises(StoreError, match="is not empty"):
        of_store(settings, "restore", folder)
    settings.folder.rename(tmp_path / "before")
    assert "is as in" in of_store(settings, "restore", folder)
    assert rows_of(settings.database) == rows


def test_a_folder_without_a_store_is_refused_and_stays_empty(tmp_path: Path) -> None:
    for words in (("check",), ("backup", str(tmp_path / "backup"))):
        with pytest.raises(StoreError, match="there is no store"):
            of_store(StoreSettings(folder=tmp_path / "none"), *words)
    with pytest.raises(StoreError, match="there is no store"):
        browse(store=tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_is_written_of_a_store(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    browse(store=database.settings.folder, bundle=tmp_path / "pages")
    written = list((tmp_path / "pages").glob("*.html"))
    assert f"{len(written):,} pages" in capsys.readouterr().out
    assert (tmp_path / "pages" / "index.html").is_file()


def test_the_command_serves_until_it_is_ended(database: Database) -> None:
    store = database.settings.folder
    port = free_port()
    command = [COSQA, "browse", "--store", str(store), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == f"The pages are at http://127.0.0.1:{port}/\n"
            deadline = time.monotonic() + 120
            while True:
                try:
                    answer = httpx.get(f"http://127.0.0.1:{port}/pairs", trust_env=False)
                    break
                except httpx.ConnectError:
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
            assert "7 pairs" in answer.text
            with pytest.raises(SettingsError, match="cannot be listened at"):
                browse(store=store, port=port)
            assert "server" not in answer.headers
            process.send_signal(signal.SIGINT)
            process.wait(60)
        finally:
            process.kill()


def test_the_challenge_is_scored_by_language_with_its_mean(tmp_path: Path) -> None:
    contents = {"queries": QUERIES, "annotations": ANNOTATIONS, "predictions": PREDICTIONS}
    options = []
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        options += [f"--{name}", str(tmp_path / name)]
    output = said("codesearchnet", *options)
    assert "java 1.000 0.631 1 100.0% 100.0%" in output
    assert "without predictions, counted as 0: go" in output
    assert "without annotations, left out: ruby" in output
    assert "repeated within a query, counted each time: 1 results" in output


def test_the_score_sheet_gives_each_method_its_line(sheet: str) -> None:
    output = said("neural-code-search", sheet)
    assert "NCS 1 3 3 0.425" in output
    assert "UNIF_android 1 1 2 0.297" in output


def test_a_bad_file_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text(SHEET.replace("NF", "none"))
    with pytest.raises(SourceError, match=r"sheet\.csv:2: NCS FRank is 'none'"):
        said("neural-code-search", str(tmp_path / "sheet.csv"))


def test_every_suite_is_listed_with_its_help() -> None:
    listing = said("--help")
    for name in suites.names():
        assert name in listing
        assert (suites.get(name).__doc__ or "").split()[0] in listing


def test_the_help_of_a_suite_has_its_options_and_arguments() -> None:
    words = said("neural-code-search", "--help")
    assert "sheet" in words
    assert "--questions" in words
    assert "The questions as JSON" in words


@pytest.mark.parametrize("width", ["60", "80", "120"])
def test_a_narrow_terminal_cuts_no_figure(
    sheet: str, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    printed = run("suite", "neural-code-search", sheet)
    assert max(map(len, printed.splitlines())) <= int(width)
    assert "0.425" in printed


def test_what_a_box_says_of_a_behaviour_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def results(*_: object) -> list[CheckResult]:
        return [CheckResult("a law", False, "printed '[bold]x[/]' [/] \x9b31m \u202e")]

    async def description(_: SandboxSettings) -> str:
        return "Docker [red]1\x9b[/]"

    monkeypatch.setattr(stage, "check_behaviours", results)
    monkeypatch.setattr(stage, "description", description)
    monkeypatch.setenv("COLUMNS", "200")
    printed = run("sandbox", "check", status=1)
    assert "printed '[bold]x[/]' [/] ⟨U+009B⟩31m ⟨U+202E⟩" in printed
    assert "Docker [red]1⟨U+009B⟩[/]" in printed


@pytest.mark.nightly
@pytest.mark.docker
def test_check_shows_engine_image_and_every_behaviour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    printed = run("sandbox", "check")
    assert SandboxSettings().image in printed
    for word in ("Docker", *(behaviour.name for behaviour in BEHAVIOURS)):
        assert word in printed
    assert f"{len(BEHAVIOURS)} of {len(BEHAVIOURS)} checks passed" in printed


@pytest.mark.docker
def test_clean_removes_what_the_dead_left_and_nothing_of_the_living() -> None:
    dead = {"cosqa.sandbox": "1", "cosqa.owner": owner_name(2**22 + 1, "1")}
    living = {"cosqa.sandbox": "1", "cosqa.owner": this_owner()}
    with contextlib.closing(docker.from_env()) as client:
        left, kept = (client.volumes.create(labels=labels) for labels in (dead, living))
        try:
            assert run("sandbox", "clean").startswith("removed ")
            names = {volume.name for volume in client.volumes.list()}
            assert left.name not in names
            assert kept.name in names
        finally:
            kept.remove()
