"""The parts of a folder (train, dev, test): each a file or a folder that `read_pairs` reads."""

from pathlib import Path
from typing import Literal

from infra.errors import SourceError
from tasks.files.text import printable

PairSplit = Literal["train", "dev", "valid", "test"]

_ENDINGS = ("", ".jsonl", ".jsonl.gz", ".json")


def has_part(folder: Path, split: PairSplit) -> bool:
    """Return whether a folder has pairs of a split."""
    return any(place.exists() for place in _places(folder, split))


def split_path(folder: Path, split: PairSplit) -> Path:
    """Return where a folder has the pairs of a split.

    They are in a folder or a file of the split's name (``train``, ``train.jsonl``,
    ``train.jsonl.gz``, ``train.json``), or in a BEIR folder's ``qrels/train.tsv``.

    Raises:
        SourceError: There is no such folder, or nothing of these is in it.
    """
    if not folder.is_dir():
        raise SourceError(f"{printable(folder)}: there is no such folder of train and test pairs")
    found = [place for place in _places(folder, split) if place.exists()]
    if not found:
        raise SourceError(
            f"{printable(folder)} has no {split} pairs: put them into a folder {split} or a file "
            f"{split}.jsonl in it, lines such as "
            '{"query": "...", "code": "def ...", "label": 1}'
        )
    if len(found) > 1:
        names = " and ".join(place.name for place in found)
        raise SourceError(f"{printable(folder)} has {names}: move all but one away")
    return found[0]


def _places(folder: Path, split: PairSplit) -> list[Path]:
    places = [folder / f"{split}{ending}" for ending in _ENDINGS]
    return [*places, folder / "qrels" / f"{split}.tsv"]
