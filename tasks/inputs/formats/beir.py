"""BEIR's folders (Thakur et al. 2021, arXiv 2104.08663).

``corpus.jsonl`` and ``queries.jsonl`` have an ``_id`` and a ``text`` on each line, the corpus maybe
a ``title``, which BEIR's own tools put before the text; ``qrels/<split>.tsv`` has query, code and
score, mostly below a header; ``qrels/<split>.jsonl``, as mteb's copies have it, has the same by
name. The ids stay as the folder gives them. Each file may be compressed by gzip. The folder in an
export is read as it was published, and refused once somebody has changed it.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

from infra.errors import SourceError
from tasks.benchmarks.manifest import check_published
from tasks.benchmarks.runs import QrelsTable
from tasks.inputs.formats import PairSplit, formats
from tasks.inputs.graded import (
    QRELS_TYPES,
    Document,
    DocumentsOf,
    GradedFolder,
    Judgement,
    choose_split,
    judgements_table,
)
from tasks.inputs.lines import Line, read_lines
from tasks.inputs.text import file_named, packed_or_not, printable, read_text_lines
from tasks.inputs.trec import is_number, qrels_table, read_columns

_QRELS = tuple(QRELS_TYPES)
_HEADER = {"query-id": "query", "corpus-id": "code", "score": "relevance"}
_SPLIT = re.compile(r"(.+)\.(?:tsv|jsonl)(?:\.gz)?")
_QRELS_ENDINGS = (".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz")


@formats.register("beir")
class Beir(GradedFolder):
    """A BEIR folder, or one of its splits by its file (qrels/SPLIT.tsv)."""

    sign = "BEIR's corpus.jsonl"
    kind = "beir"

    @classmethod
    def at(cls, path: Path, usual: str) -> Self | None:
        """Return a folder's only or usual split, or the one that a file in its ``qrels`` names."""
        if path.parent.name == "qrels" and path.is_file() and _is_beir(path.parent.parent):
            split = _SPLIT.fullmatch(path.name)
            return cls(path.parent.parent, split[1]) if split else None
        if not _is_beir(path):
            return None
        return cls(path, choose_split(path, _qrels_files(path), usual))

    @classmethod
    def places(cls, folder: Path, split: PairSplit) -> Iterable[Path]:
        """Return the qrels of a split."""
        return [folder / "qrels" / f"{split}{ending}" for ending in _QRELS_ENDINGS]

    def documents(self, name: DocumentsOf) -> Iterator[Line[Document]]:
        """Yield the lines of the corpus or of the queries."""
        file = file_named(self.path, f"{name}.jsonl")
        self._check_published(file)
        return read_lines(file, Document)

    def qrels(self, known: Container[str] = ()) -> QrelsTable:
        """Return the split's grades; with ids of the folder no line of names begins."""
        self._check_published(self.grades_file)
        return read_beir_qrels(self.grades_file, known)

    def _check_published(self, file: Path) -> None:
        folder = self.path.resolve()
        check_published(folder / file.relative_to(self.path), folder)

    @property
    def grades_file(self) -> Path:
        """The file of the split's grades."""
        usual = self.path / "qrels" / f"{self.split}.tsv"
        return _qrels_files(self.path).get(self.split, usual)


def _is_beir(folder: Path) -> bool:
    return any((folder / f"corpus.jsonl{ending}").is_file() for ending in ("", ".gz"))


def read_beir_qrels(file: Path, known: Container[str] = ()) -> QrelsTable:
    """Return the qrels of a ``qrels/<split>.tsv`` or ``qrels/<split>.jsonl``.

    With known ids of the folder no line of names begins.

    Raises:
        SourceError: The file is missing, a line is malformed, or a pair is judged twice.
    """
    if file.name.removesuffix(".gz").endswith(".jsonl"):
        return judgements_table(file, read_lines(file, Judgement))
    names, skip = _header(file, known)
    return qrels_table(file, read_columns(file, names, QRELS_TYPES, skip=skip))


def _header(file: Path, known: Container[str]) -> tuple[Sequence[str], int]:
    """Return the columns, in their order, and the number of lines up to the header."""
    for number, line in read_text_lines(file):
        fields = line.split()
        if sorted(fields) == sorted(_HEADER):
            return [_HEADER[name] for name in fields], number
        if fields:
            of_names = len(fields) == len(_QRELS) and not is_number(fields[-1])
            is_header = of_names and not any(name in known for name in fields[:-1])
            return _QRELS, number if is_header else number - 1
    return _QRELS, 0


def _qrels_files(folder: Path) -> dict[str, Path]:
    """Return split → file; a split that is there in two forms is a `SourceError`."""
    found: dict[str, Path] = {}
    for ending in ("tsv", "jsonl"):
        for file in packed_or_not(folder, f"qrels/*.{ending}"):
            split = file.name.partition(f".{ending}")[0]
            if found.setdefault(split, file) != file:
                raise SourceError(
                    f"{printable(file)} is the same split as {found[split].name}: move one away"
                )
    return dict(sorted(found.items()))
