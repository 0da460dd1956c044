"""The law of a working folder: it decides nothing about Prefect.

Covers `infra.working_folder`.
"""

import os
import subprocess
from pathlib import Path

import pytest

from infra.errors import SettingsError
from infra.working_folder import refuse_prefect_settings
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


def test_a_command_in_such_a_folder_ends_before_they_count(tmp_path: Path) -> None:
    (tmp_path / "logging.yml").write_text(LOGGING)
    (tmp_path / ".env").write_text("PREFECT_LOGGING_SETTINGS_PATH=logging.yml")
    done = subprocess.run(
        [COSQA, "status"], cwd=tmp_path, env=dict(os.environ), capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"has settings of Prefect (PREFECT_LOGGING_SETTINGS_PATH)" in done.stderr
    assert not (tmp_path / "ran").exists()
