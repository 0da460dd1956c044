"""Laws of what is no file: every reader says so, and waits for nothing."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.benchmarks.beir import read_beir_qrels
from tasks.benchmarks.trec import read_run
from tasks.corpus.python_files import read_python
from tasks.files.csv_rows import read_header
from tasks.files.json_lines import read_queries
from tasks.files.pickles import pickled_items, pickled_pairs
from tasks.files.text import read_text, read_text_lines


def _exhausted(read: Callable[[Path], Iterator[object]]) -> Callable[[Path], object]:
    return lambda file: list(read(file))


READERS = {
    "text": read_text,
    "lines": _exhausted(read_text_lines),
    "run": read_run,
    "beir": read_beir_qrels,
    "header": read_header,
    "queries": read_queries,
    "items": _exhausted(pickled_items),
    "pairs": _exhausted(pickled_pairs),
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_a_folder_and_a_device_are_no_files(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero"), tmp_path / "none", Path("a\0b")):
        with pytest.raises(SourceError, match="cannot be read"):
            READERS[name](path)


def test_a_pipe_among_python_files_is_unreadable(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "module.py")
    with pytest.raises(OSError, match="no file"):
        read_python(tmp_path / "module.py")
