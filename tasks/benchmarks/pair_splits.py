"""The pairs of a folder by split, each a file or a folder that `read_pairs` reads."""

from pathlib import Path
from typing import Literal

from infra.errors import SourceError
from tasks.benchmarks.deepcs import ENDING
from tasks.files.text import printable

PairSplit = Literal["train", "dev", "valid", "test"]

_ENDINGS = ("", ".jsonl", ".jsonl.gz", ".json", ENDING)
_QRELS_ENDINGS = (".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz")


def split_path(folder: Path, split: PairSplit) -> Path:
    """Return where a folder has the pairs of a split.

    They are in a folder or a file of the split's name (``train``, ``train.jsonl``,
    ``train.jsonl.gz``, ``train.json``, DeepCS's ``train.desc.h5``), or in a BEIR folder's ``qrels``
    (``train.tsv``, ``train.jsonl``, each maybe compressed).

    Raises:
        SourceError: There is no such folder, or nothing of these is in it.
    """
    found = find_split(folder, split)
    if found is None:
        raise SourceError(
            f"{printable(folder)} has no {split} pairs: put them into a folder {split} or a file "
            f"{split}.jsonl in it, lines such as "
            '{"query": "...", "code": "def ...", "label": 1}'
        )
    return found


def find_split(folder: Path, split: PairSplit) -> Path | None:
    """Return the same, None where the folder has no pairs of that split.

    Raises:
        SourceError: There is no such folder, or it has the split twice.
    """
    if not folder.is_dir():
        raise SourceError(f"{printable(folder)}: there is no such folder of train and test pairs")
    places = [folder / f"{split}{ending}" for ending in _ENDINGS]
    places += [folder / "qrels" / f"{split}{ending}" for ending in _QRELS_ENDINGS]
    found = [place for place in places if place.exists()]
    if len(found) > 1:
        names = " and ".join(place.name for place in found)
        raise SourceError(f"{printable(folder)} has {names}: move all but one away")
    return found[0] if found else None
