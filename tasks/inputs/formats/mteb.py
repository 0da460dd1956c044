"""Folders of an mteb task (Muennighoff et al. 2023), with the file names of the hub.

``corpus/`` and ``queries/`` have an ``_id`` or ``id`` and a ``text`` in each row, the corpus maybe
a ``title``; ``qrels/`` (also ``data/`` or ``default/``) has ``query-id``, ``corpus-id``, ``score``.
Files are Parquet or JSON Lines, one or several, named ``SPLIT-00000-of-00001.parquet`` or
``SPLIT.jsonl``; corpus and queries are those of the split, or, named otherwise, of all splits.
"""

import re
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from infra.errors import SourceError
from tasks.benchmarks.runs import QrelsTable
from tasks.inputs.formats import PairSplit, formats
from tasks.inputs.graded import (
    Document,
    DocumentsOf,
    GradedFolder,
    Judgement,
    choose_split,
    judgements_table,
)
from tasks.inputs.lines import Line, RowType, read_lines, validated
from tasks.inputs.text import inside, printable, regular

_GRADES = ("qrels", "data", "default")
_SHARD = re.compile(r"(?P<split>.+?)(?:-\d+-of-\d+)?\.(?:parquet|jsonl|jsonl\.gz)")
_BATCH = 4_096


@formats.register("mteb")
class Mteb(GradedFolder):
    """The folder of an mteb task, or one of its splits by a file of its grades."""

    sign = "an mteb task's corpus/, queries/ and qrels/"
    kind = "mteb"

    @classmethod
    def at(cls, path: Path, usual: str) -> Self | None:
        """Return a folder's only or usual split, or the one that a file of grades names."""
        if path.parent.name in _GRADES and path.is_file() and _is_task(path.parent.parent):
            split = _SHARD.fullmatch(path.name)
            return cls(path.parent.parent, split["split"]) if split else None
        if not _is_task(path):
            return None
        firsts = {split: files[0] for split, files in _shards(path / _grades(path)).items()}
        return cls(path, choose_split(path, firsts, usual))

    @classmethod
    def places(cls, folder: Path, split: PairSplit) -> Iterable[Path]:
        """Return the first file of a split's grades."""
        return _shards(folder / _grades(folder)).get(split, [])[:1] if _is_task(folder) else ()

    def documents(self, name: DocumentsOf) -> Iterator[Line[Document]]:
        """Yield the rows of the corpus or of the queries."""
        shards = _shards(self.path / name)
        every = [file for files in shards.values() for file in files]
        return _rows(shards.get(self.split, every), Document)

    def qrels(self, known: Container[str] = ()) -> QrelsTable:
        """Return the split's grades."""
        del known
        files = _shards(self.grades_file.parent).get(self.split, [self.grades_file])
        return judgements_table(self.grades_file, _rows(files, Judgement))

    @property
    def grades_file(self) -> Path:
        """The first file of the split's grades."""
        folder = self.path / _grades(self.path)
        return _shards(folder).get(self.split, [folder / f"{self.split}.parquet"])[0]


def _is_task(folder: Path) -> bool:
    return all(_shards(folder / name) for name in ("corpus", "queries", _grades(folder)))


def _grades(folder: Path) -> str:
    return next((name for name in _GRADES if (folder / name).is_dir()), _GRADES[0])


def _shards(folder: Path) -> dict[str, list[Path]]:
    """Return split → its files in their order."""
    found: dict[str, list[Path]] = {}
    files = folder.iterdir() if folder.is_dir() else ()
    for file in inside(folder, (file for file in files if _SHARD.fullmatch(file.name))):
        shard = _SHARD.fullmatch(file.name)
        found.setdefault(shard["split"] if shard else "", []).append(file)
    return found


def _rows(files: Iterable[Path], model: type[RowType]) -> Iterator[Line[RowType]]:
    """Yield the rows of files, each with its place."""
    for file in files:
        if file.suffix == ".parquet":
            yield from _parquet_rows(file, model)
        else:
            yield from read_lines(file, model)


def _parquet_rows(file: Path, model: type[RowType]) -> Iterator[Line[RowType]]:
    try:
        with pq.ParquetFile(regular(file)) as opened:
            rows = (row for batch in opened.iter_batches(_BATCH) for row in batch.to_pylist())
            for number, row in enumerate(rows, 1):
                place = f"{printable(file)}:{number}"
                with_text_ids = {  # also where the column is of numbers
                    key: str(value) if isinstance(value, int) and key.endswith("id") else value
                    for key, value in row.items()
                }
                yield Line(place, validated(place, with_text_ids, model))
    except (pa.ArrowException, OSError) as error:
        raise SourceError(
            f"{printable(file)} cannot be read ({error}): copy it again, it may be cut short"
        ) from None
