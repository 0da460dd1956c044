"""Laws of where a folder has its training and its test pairs."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.benchmarks.pair_splits import find_split, split_path
from tasks.benchmarks.pairs import read_pairs

LINE = json.dumps({"docstring_tokens": ["sort", "a", "list"], "code_tokens": ["def", "f"]}) + "\n"


def published(folder: Path) -> None:
    (folder / "train").mkdir()
    with gzip.open(folder / "train" / "python_train_0.jsonl.gz", "wt") as file:
        file.write(LINE)


def beir(folder: Path) -> None:
    (folder / "qrels").mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "c", "text": "def f", "title": ""}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "sort a list"}\n')
    (folder / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq\tc\t1\n")


@pytest.mark.parametrize(
    "make",
    [
        published,
        beir,
        lambda folder: (folder / "train.jsonl").write_text(LINE),
        lambda folder: (folder / "train.json").write_text(
            '[{"doc": "sort a list", "code": "def f"}]'
        ),
    ],
)
def test_each_form_is_found_and_read(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path)
    pairs = read_pairs(split_path(tmp_path, "train"))
    assert (pairs.queries, pairs.codes) == (("sort a list",), ("def f",))


def test_what_is_missing_or_there_twice_is_said_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"absent: there is no such folder of train and test"):
        split_path(tmp_path / "absent", "train")
    with pytest.raises(SourceError, match=r"has no test pairs: put them into a folder test or a"):
        split_path(tmp_path, "test")
    assert find_split(tmp_path, "valid") is None
    published(tmp_path)
    (tmp_path / "train.jsonl").write_text(LINE)
    with pytest.raises(SourceError, match=r"has train and train\.jsonl: move all but one away"):
        split_path(tmp_path, "train")
