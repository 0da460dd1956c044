"""Laws of DeepCS's published data, made small."""

import json
import pickle
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infra.errors import SourceError
from infra.languages import languages
from tasks.inputs.formats import find_split, read_pairs
from tasks.inputs.pairs import Pairs
from tests.tasks.sources.examples import Touches

h5py: Any = pytest.importorskip("h5py", reason="the extra 'deepcs' is not installed")

MARKS = {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3}
WORDS = ("read", "text", "file", "FileReader", "new", ">", "is", "close")
VOCABULARY = MARKS | {word: number for number, word in enumerate(WORDS, 4)}
TEXTS = {
    "desc": ["read text file", "", "text <unk> file"],
    "methname": ["read text file", "is", "new <pad>"],
    "apiseq": ["FileReader new > is", "", "close"],
    "tokens": ["text close", "file", ""],
}


def write(folder: Path, texts: dict[str, list[str]], part: str = "train") -> Path:
    """Write texts as the published files have them, with room between them."""
    for field, lines in texts.items():
        (folder / f"vocab.{field}.json").write_text(json.dumps(VOCABULARY))
        numbers = [[VOCABULARY[word] for word in line.split()] for line in lines]
        spans = [(len(line), 2 + sum(map(len, numbers[:n]))) for n, line in enumerate(numbers)]
        tables(folder / f"{part}.{field}.h5", [1, 2, *chain.from_iterable(numbers)], spans)
    return folder / f"{part}.desc.h5"


def tables(file: Path, phrases: Sequence[int], spans: Sequence[tuple[int, int]]) -> None:
    with h5py.File(file, "w") as opened:
        opened["phrases"] = np.array(phrases, np.int32)
        opened["indices"] = np.array(spans, [("length", "u4"), ("pos", "i8")])


def test_a_method_is_a_function_with_the_name_the_calls_and_the_tokens(tmp_path: Path) -> None:
    assert find_split(tmp_path, "train") is None
    file = write(tmp_path, TEXTS)
    assert find_split(tmp_path, "train") == file
    pairs = read_pairs(file)
    assert pairs.queries == ("read text file", "text file")
    assert pairs.codes[0] == (
        "def read_text_file():\n    FileReader(); new(); is_()\n    # text close"
    )
    python = languages.get("python")()
    assert list(python.calls(pairs.codes[0])) == ["FileReader", "new", "is_"]
    assert python.functions_of(pairs.codes[1])[0].name == "new"
    assert pairs.left_out == {"pair with an empty text": 1}


def test_vocabularies_may_be_pickles_which_run_nothing(tmp_path: Path) -> None:
    expected = read_pairs(write(tmp_path, TEXTS))
    for file in tmp_path.glob("vocab.*.json"):
        file.with_suffix(".pkl").write_bytes(pickle.dumps(VOCABULARY, 2))
        file.unlink()
    assert read_pairs(tmp_path / "train.desc.h5") == expected
    canary = tmp_path / "canary"
    (tmp_path / "vocab.desc.pkl").write_bytes(pickle.dumps({"a": Touches(canary)}))
    with pytest.raises(SourceError, match=r"vocab\.desc\.pkl: .* is refused"):
        read_pairs(tmp_path / "train.desc.h5")
    assert not canary.exists()


def refused(folder: Path, problem: str) -> None:
    with pytest.raises(SourceError, match=problem):
        read_pairs(folder / "train.desc.h5")


def test_files_of_another_form_are_named(tmp_path: Path) -> None:
    desc = write(tmp_path, TEXTS)
    for spans in ([(1, 99)], [(1, -1)], [(99, 0)], [(1, 1 << 62)], [(4_000_000_000, 0)]):
        tables(desc, [4], spans)
        refused(tmp_path, r"train\.desc\.h5: texts 0 to 1 overlap, or lie outside")
    tables(desc, [4, 5], [(2, 0), (2, 0)])
    refused(tmp_path, r"texts 0 to 2 overlap")
    tables(desc, [4, 77, 4], [(1, 0), (1, 1), (1, 2)])
    refused(tmp_path, r"train\.desc\.h5: text 1 has the word 77")
    tables(desc, [4], [(1, 0)])
    refused(tmp_path, r"different numbers of texts")
    with h5py.File(desc, "w") as opened:
        opened["phrases"], opened["indices"] = np.array([4]), np.array([[0, 1]])
    refused(tmp_path, r"'indices' is no list")
    desc.write_bytes(desc.read_bytes()[:100])
    refused(tmp_path, r"cannot be read as HDF5")
    desc.write_bytes(b"")
    refused(tmp_path, r"cannot be read as HDF5")
    write(tmp_path, TEXTS)
    (tmp_path / "vocab.apiseq.json").write_text('["a"]')
    refused(tmp_path, r"vocab\.apiseq\.json is no map")
    (tmp_path / "train.apiseq.h5").unlink()
    refused(tmp_path, r"(train\.apiseq\.h5|vocab\.apiseq\.json)")


def test_a_table_that_lies_in_another_file_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"\4\0\0\0" * 8)
    desc = write(tmp_path, TEXTS)
    good = desc.read_bytes()
    (tmp_path / "other.h5").write_bytes(good)

    def outside(opened: Any) -> None:
        opened["phrases"] = h5py.ExternalLink("other.h5", "/phrases")

    def raw(opened: Any) -> None:
        opened.create_dataset("phrases", (8,), "i4", external=[(str(secret), 0, 32)])

    def virtual(opened: Any) -> None:
        layout = h5py.VirtualLayout((5,), "i4")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "phrases", (8,), "i4")[:5]
        opened.create_virtual_dataset("phrases", layout)

    def group(opened: Any) -> None:
        opened.create_group("phrases")

    def huge(opened: Any) -> None:
        opened["phrases"] = np.array([4])
        del opened["indices"]
        kind = np.dtype([("length", "u4"), ("pos", "i8")])
        opened.create_dataset("indices", (1 << 40,), kind, chunks=(1024,))

    def piece(opened: Any) -> None:
        opened.create_dataset("phrases", (1 << 26,), "i4", chunks=(1 << 26,), compression="gzip")

    for change in (outside, raw, virtual, group, huge, piece):
        desc.write_bytes(good)
        with h5py.File(desc, "r+") as opened:
            del opened["phrases"]
            change(opened)
        refused(tmp_path, r"no table 'phrases' of its own|1,099,511,627,776 texts|in pieces")


def test_several_blocks_are_one_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole: Pairs = read_pairs(write(tmp_path, TEXTS))
    monkeypatch.setattr("tasks.inputs.formats.deepcs._BLOCK", 2)
    assert read_pairs(tmp_path / "train.desc.h5") == whole
