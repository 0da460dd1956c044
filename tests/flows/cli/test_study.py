"""Laws of what ``cosqa study`` prints, and of its options.

Covers `flows.cli.study_options`.
"""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli import checks
from flows.cli.main import app
from flows.cli.study import print_report
from flows.cli.study_options import StudyOptions
from infra.errors import SourceError
from infra.settings import Settings, StoreSettings
from infra.store import open_database
from tasks.reports.study import build_report
from tests.fakes.studies import full_evidence


def test_every_line_fits_into_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    report = build_report(full_evidence(tmp_path), "t", "now")
    print_report(report, "study.html")
    printed = capsys.readouterr().out
    tables, _, missing = printed.partition("not computed:")
    assert max(map(len, printed.splitlines())) <= 80
    for text in ("Overlap of a single encoder", "Table II", "CodeT5+", "other than in v2"):
        assert text in tables
    assert "Functions of CodeSearchNet: these are figures of another command" in " ".join(
        missing.split()
    )


def test_the_options_are_those_of_the_pipeline_and_the_files() -> None:
    done = CliRunner().invoke(app, ["study", "--help"], env={"COLUMNS": "200"})
    for option in ("--source", "--top-k", "--method", "--annotators", "--score-sheet"):
        assert option in done.output
    assert "--plan" not in done.output


def test_a_file_that_is_not_there_is_named_before_anything_starts(tmp_path: Path) -> None:
    settings = Settings(store=StoreSettings(folder=tmp_path))
    open_database(settings.store)
    absent = tmp_path / "absent.json"
    with pytest.raises(SourceError, match=r"absent\.json cannot be read"):
        checks.study(StudyOptions(settings, (absent,), None, None))
