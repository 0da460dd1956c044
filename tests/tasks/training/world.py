"""Small data, checkpoints and jobs to train."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from infra.settings import TrainingSettings
from tasks.encoders import Kind, Vectors
from tasks.stages.train import TrainingInput
from tasks.training.joint import JointModel
from tasks.training.recipes import TrainingJob
from tests.fakes.checkpoints import make_checkpoint

WORDS = ("list", "file", "sum", "dict", "tree", "mail", "time", "path", "graph", "image")
VERBS = ("sort", "read", "add", "merge", "walk", "send", "parse", "join")


def rows(number: int) -> list[dict[str, Any]]:
    """Return so many pairs of a query and a code, none near another."""
    return [
        {
            "query": f"{VERBS[i % 8]} a {WORDS[i % 10]} {i}",
            "code": f"def {VERBS[i % 8]}_{WORDS[i % 10]}(x):\n    return {WORDS[i % 7]}(x, {i})",
            "label": 1,
        }
        for i in range(number)
    ]


def write_lines(file: Path, lines: Sequence[dict[str, Any]]) -> Path:
    """Write JSON Lines; return the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def checkpoint(encoder: str, folder: Path, dimension: int = 16, *, dropout: float = 0.0) -> Path:
    """Write a small checkpoint with that dropout; return its folder."""
    make_checkpoint(encoder, folder, dimension)
    file = folder / "config.json"
    config = json.loads(file.read_text())
    names = [name for name in config if name.endswith(("dropout_prob", "dropout_rate"))]
    file.write_text(json.dumps(config | dict.fromkeys(names, dropout)))
    return folder


def inputs_of(folder: Path, base: str, number: int = 40, **settings: Any) -> TrainingInput:
    """Return what is trained on so many pairs in a file of a folder."""
    data = write_lines(folder / "pairs.jsonl", rows(number))
    return TrainingInput(data, None, TrainingSettings(base=base, **settings))


def job_of(inputs: TrainingInput, folder: Path, **recipe: Any) -> TrainingJob:
    """Return the job of an input, with a changed recipe."""
    changed = inputs.recipe.model_copy(update=recipe)
    return TrainingJob(inputs.base, changed, inputs.data.train, inputs.data.dev, folder)


def vectors_of(model: JointModel, texts: Sequence[str], kind: Kind, similarity: str) -> Vectors:
    """Return a model's vectors of texts, computed one by one, of unit length for a cosine."""
    model.eval()
    with torch.no_grad():
        rows = [model(model.features([text], kind), kind)[0] for text in texts]
    found: Vectors = torch.stack(rows).numpy()
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return found / lengths if similarity == "cosine" else found
