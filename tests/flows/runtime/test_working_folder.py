"""The law of a working folder: it decides nothing about Prefect.

Covers `flows.runtime.working_folder`.
"""

import os
import subprocess
from pathlib import Path

import pytest

from flows.runtime.working_folder import enter_working_folder, refuse_prefect_settings
from infra.errors import SettingsError
from tests.flows.world import COSQA

LOGGING = """
version: 1
handlers: {x: {(): subprocess.Popen, args: touch ran, shell: true}}
root: {handlers: [x]}
"""


@pytest.mark.parametrize(
    ("name", "text", "is_refused"),
    [
        (".env", "PREFECT_LOGGING_SETTINGS_PATH=logging.yml", True),
        (".env", "A=b\nexport prefect_api_url = http://a.b/api", True),
        (".env", "'PREFECT_HOME'=x", True),
        (".env", "OPENAI_API_KEY=sk\nCOSQA_LLM__MODEL=m  # of PREFECT_API_URL", False),
        ("prefect.toml", "", True),
        ("pyproject.toml", "[tool.prefect.api]\nurl = 'http://a.b'", True),
        ("pyproject.toml", "tool = {prefect = {home = 'x'}}", True),
        ("pyproject.toml", "[project]\ndependencies = ['prefect']\n[tool.ruff]", False),
        ("pyproject.toml", "[tool.prefect", False),
        ("prefect.yaml", "deployments: []", False),
    ],
)
def test_settings_of_prefect_in_a_folder_are_refused(
    name: str, text: str, is_refused: bool, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    if not is_refused:
        return refuse_prefect_settings(tmp_path)
    with pytest.raises(SettingsError, match=rf"{name} has settings of Prefect .*environment"):
        refuse_prefect_settings(tmp_path)
    return None


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go into a folder, as Prefect does before a run; what a test enters is left after it."""
    (tmp_path / "program").mkdir()
    monkeypatch.chdir(tmp_path / "program")
    return tmp_path


@pytest.mark.parametrize(("named", "entered"), [("work", "work"), ("", "program")])
def test_a_run_of_a_deployment_works_where_the_deployment_says(
    named: str, entered: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere / "work").mkdir()
    monkeypatch.setenv("COSQA_FOLDER", str(elsewhere / named) if named else "")
    enter_working_folder()
    assert Path.cwd() == elsewhere / entered


@pytest.mark.parametrize("named", ["{{ $COSQA_FOLDER }}", "/nowhere", "/dev/null"])
def test_a_run_without_its_folder_ends(
    named: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSQA_FOLDER", named)
    with pytest.raises(
        SettingsError, match=r"COSQA_FOLDER.*set it to a folder where `prefect deploy`"
    ):
        enter_working_folder()
    assert Path.cwd() == elsewhere / "program"


def test_a_run_in_a_folder_with_settings_of_prefect_ends(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere / "prefect.toml").touch()
    monkeypatch.setenv("COSQA_FOLDER", str(elsewhere))
    with pytest.raises(SettingsError, match=r"has settings of Prefect \(prefect.toml\)"):
        enter_working_folder()


def test_a_command_in_such_a_folder_ends_before_they_count(tmp_path: Path) -> None:
    (tmp_path / "logging.yml").write_text(LOGGING)
    (tmp_path / ".env").write_text("PREFECT_LOGGING_SETTINGS_PATH=logging.yml")
    done = subprocess.run(
        [COSQA, "status"], cwd=tmp_path, env=dict(os.environ), capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"has settings of Prefect (PREFECT_LOGGING_SETTINGS_PATH)" in done.stderr
    assert not (tmp_path / "ran").exists()
