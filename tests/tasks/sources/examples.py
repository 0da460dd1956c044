"""Small inputs for the tests of single sources, and the reading of these."""

import json
import os
from pathlib import Path
from typing import Any

from infra.collected import Collected, whole
from infra.settings import SourceSettings
from tasks.corpus.merging import Readable
from tasks.sources import open_source

DOUBLE = 'def double(x):\n    """Return twice the number."""\n    y = x + x\n    return y\n'
HALVE = "def halve(x):\n    return x / 2\n"
PYTHON_2 = "def shout(x):\n    print x\n"


def read_whole(source: Readable) -> dict[str, Collected]:
    """Return collection name → content, whole in memory."""
    return {name: whole(content) for name, content in source.read().items()}


def read_all(name: str, path: Path, **options: object) -> dict[str, Collected]:
    """Return the collections of a source."""
    given = {"name": name, "path": path, **options}
    return read_whole(open_source(SourceSettings.model_validate(given)))


def read_one(name: str, path: Path, **options: object) -> Collected:
    """Return the one collection of a source."""
    (collected,) = read_all(name, path, **options).values()
    return collected


class Touches:
    """What pickles to a call that makes a file."""

    def __init__(self, file: Path) -> None:
        self._command = f"touch {file}"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (self._command,)


def write_lines(file: Path, *rows: object) -> Path:
    """Write rows as JSON Lines and return the file."""
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def cosqa(folder: Path) -> SourceSettings:
    indices = {DOUBLE: 0, HALVE: 1, PYTHON_2: 2}
    (folder / "code_idx_map.txt").write_text(json.dumps(indices))
    retrieval = [cosqa_row("python double a number", DOUBLE, 1, idx="t-1", retrieval_idx=0)]
    (folder / "cosqa-retrieval-dev-1.json").write_text(json.dumps(retrieval))
    pairs = [
        cosqa_row("python double a number", DOUBLE, 1, idx="d-0"),
        cosqa_row("python shout", HALVE, 0, idx="d-1"),
    ]
    (folder / "cosqa-dev.json").write_text(json.dumps(pairs))
    return SourceSettings(name="cosqa", path=folder)


def cosqa_row(doc: str, code: str, label: int, **more: object) -> dict[str, object]:
    return {"idx": "d-0", "doc": doc, "code": code, "label": label, "code_tokens": "", **more}


def jsonl(folder: Path) -> SourceSettings:
    write_lines(
        folder / "queries.jsonl", {"query": "double it", "id": "q1"}, {"text": "half of it"}
    )
    write_lines(folder / "codes.jsonl", {"code": DOUBLE, "id": "c1"}, {"code": HALVE, "name": "h"})
    write_lines(folder / "labels.jsonl", {"query": "q1", "code": "c1", "relevance": 1})
    return SourceSettings(name="jsonl", path=folder)


def python_source(folder: Path) -> SourceSettings:
    package = folder / "package"
    package.mkdir()
    (package / "__init__.py").write_text(HALVE)
    (package / "arithmetic.py").write_text(DOUBLE + "\n" + HALVE)
    (package / "old.py").write_text(PYTHON_2)
    queries = write_lines(folder / "asked.jsonl", {"query": "double it"})
    return SourceSettings(name="python-source", path=folder, queries=queries)
