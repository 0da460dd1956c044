"""``cosqa suite`` on small files of the published forms."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from infra.errors import SourceError
from tasks.suites import suites
from tests.tasks.suites.test_codesearchnet import ANNOTATIONS, PREDICTIONS, QUERIES
from tests.tasks.suites.test_neural_code_search import SHEET


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["suite", *arguments])
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


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


def test_the_score_sheet_gives_each_method_its_line(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text(SHEET)
    output = said("neural-code-search", str(tmp_path / "sheet.csv"))
    assert "NCS 1 3 3 0.425" in output
    assert "UNIF_android 1 1 2 0.297" in output


def test_a_bad_file_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text(SHEET.replace("NF", "none"))
    result = CliRunner().invoke(app, ["suite", "neural-code-search", str(tmp_path / "sheet.csv")])
    assert isinstance(result.exception, SourceError)
    assert "sheet.csv:2: NCS FRank is 'none'" in str(result.exception)


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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    (tmp_path / "sheet.csv").write_text(SHEET)
    result = CliRunner().invoke(app, ["suite", "neural-code-search", str(tmp_path / "sheet.csv")])
    assert max(map(len, result.stdout.splitlines())) <= int(width)
    assert "0.425" in result.stdout
