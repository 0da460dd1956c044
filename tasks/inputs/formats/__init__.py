"""Formats of benchmarks and of pairs of query and code, one file each.

`at` finds the format of a path, `read` reads whatever it is as a benchmark. To add a format, write
a file with a subclass of `Format`, or of `BenchmarkFormat` where it has a code base and grades, and
decorate it with ``@formats.register("name")``, the name being that of the file with dashes for
underscores. Commands, checks, pages and training take it from then on, and `cosqa list formats`
tells it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Literal, Self

from infra.errors import SourceError
from infra.records import Code, Label, Query, SourceInfo
from infra.registry import Registry
from tasks.benchmarks.benchmark import Benchmark, fit_name
from tasks.benchmarks.runs import QrelsTable
from tasks.inputs.pairs import PAIR_FORMS, Pairs, QueryTexts, pairs_of
from tasks.inputs.text import printable

PairSplit = Literal["train", "dev", "valid", "test"]


class Format(ABC):
    """Benchmark or pairs at the path of a file or folder, in one format.

    Attributes:
        sign: What shows that a folder is a benchmark of this format; "" where pairs are all.
        turn: Formats of a lower number are tried first.
    """

    sign: ClassVar[str] = ""
    turn: ClassVar[int] = 1

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    @abstractmethod
    def at(cls, path: Path, usual: str) -> Self | None:
        """Return the content of a path, None if it has another format; little of it is read.

        Args:
            path: A file or a folder, or none.
            usual: The split of a benchmark with several, if it has that one.

        Raises:
            SourceError: There are several splits, and none of them is named.
        """

    @classmethod
    def places(cls, folder: Path, split: PairSplit) -> Iterable[Path]:
        """Return the paths at which a folder may have a split in this format."""
        del folder, split
        return ()

    @abstractmethod
    def pairs(self) -> Pairs:
        """Return the pairs; one that is there twice counts twice.

        Raises:
            SourceError: A file is malformed or cut short, or a query has no code.
            PublishError: A file of an export is missing or changed.
        """

    @property
    def name(self) -> str:
        """Its name: that of the file or folder, without its ending."""
        if self.path.is_dir():
            return printable(self.path.resolve().name)
        name = self.path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
        return printable(name)

    def query_texts(self) -> Iterable[str]:
        """Return all queries, with a match or without."""
        return self.pairs().queries

    def code_texts(self) -> Iterable[str]:
        """Return all code, with a query or without."""
        return self.pairs().codes

    def benchmark(self) -> Benchmark:
        """Return it as a benchmark: of pairs, one whose codes are those of the pairs."""
        return benchmark_of_pairs(_refuse_none(self.path, self.pairs()))


class BenchmarkFormat(Format):
    """A format with a code base, queries and grades, which it may stream one after the other."""

    @abstractmethod
    def benchmark(self, *, needs_labels: bool = True) -> Benchmark:
        """Return the benchmark; where it needs labels, one without any is refused.

        Raises:
            SourceError: A file is malformed.
            PublishError: A file of an export is missing or changed.
        """

    def codes(self) -> Iterable[Code]:
        """Return the code base."""
        return self.benchmark().codes

    def queries(self) -> Iterable[Query]:
        """Return the queries, judged or not."""
        return self.benchmark().queries

    def qrels(self) -> QrelsTable:
        """Return the grades."""
        return QrelsTable.of_labels(self.benchmark().labels)

    def pairs(self) -> Pairs:
        """Return each query with each of its relevant codes."""
        return pairs_of(self.benchmark())

    def query_texts(self) -> Iterable[str]:
        """Return the queries of the benchmark."""
        return [query.text for query in self.benchmark(needs_labels=False).queries]

    def code_texts(self) -> Iterable[str]:
        """Return the code base."""
        return [code.text for code in self.benchmark().codes]


formats: Registry[type[Format]] = Registry("format", "tasks.inputs.formats")


def all_formats() -> list[type[Format]]:
    """Return the formats in the order in which they are tried."""
    return sorted(map(formats.get, formats), key=lambda each: each.turn)


def at(path: Path, usual: str = "") -> Format:
    """Return the content of a path; if nothing else fits, files of pairs, which name missing parts.

    Raises:
        SourceError: There are several splits, and none of them is named.
    """
    found = (each.at(path, usual) for each in all_formats())
    return next(each for each in found if each)


def benchmark_at(path: Path, usual: str = "") -> BenchmarkFormat | None:
    """Return the benchmark at a path, None if there is none.

    Args:
        path: A folder, or a file that names a split, such as ``qrels/train.tsv``.
        usual: The split of a folder with several, if it has that one.

    Raises:
        SourceError: There are several splits, and none of them is named.
    """
    found = at(path, usual)
    return found if isinstance(found, BenchmarkFormat) else None


def benchmark_signs() -> list[str]:
    """Return the signs by which a folder is a benchmark, one for each format."""
    return [each.sign for each in all_formats() if each.sign]


def read(path: Path, usual: str = "") -> Benchmark:
    """Return whatever is at a path as a benchmark; errors as of `read_pairs`."""
    return at(path, usual).benchmark()


def read_pairs(path: Path) -> Pairs:
    """Return the pairs of a benchmark, a folder or a file; a pair that is there twice counts twice.

    Of a benchmark each label with a relevance above 0 is a pair.

    Raises:
        SourceError: There is no such path, a file is malformed or cut short, a query has no code,
            or there are no pairs.
        PublishError: A file of an export is missing or changed.
    """
    return _refuse_none(path, at(path).pairs())


def read_query_texts(path: Path) -> QueryTexts:
    """Return the distinct queries of a file or folder in their order.

    Args:
        path: JSON Lines of queries, each as ``query`` or ``text``; or anything that has a format,
            of which all queries are taken, with a match or without.

    Raises:
        SourceError: There is no such path, a line is malformed, or there are no queries.
        PublishError: A file of an export is missing or changed.
    """
    found = at(path)
    queries = QueryTexts.of(found.name, found.query_texts())
    if not queries.texts:
        raise SourceError(
            f'{printable(path)} holds no queries: write lines such as {{"query": "..."}}'
        )
    return queries


def benchmark_of_pairs(pairs: Pairs) -> Benchmark:
    """Return a benchmark whose queries, codes and labels are those of pairs."""
    both = [*zip(map(Query.of, pairs.queries), map(Code.of, pairs.codes), strict=True)]
    labels = {
        (query.query_id, code.code_id): Label(
            query_id=query.query_id, code_id=code.code_id, origin="pairs", relevance=1.0
        )
        for query, code in both
    }
    info = SourceInfo(name="pairs", licence="unknown", revision=pairs.fingerprint, location="")
    return Benchmark(
        name=fit_name(pairs.name, "pairs"),
        label_origin="pairs",
        queries=tuple({query.query_id: query for query, _ in both}.values()),
        codes=tuple({code.code_id: code for _, code in both}.values()),
        labels=tuple(labels.values()),
        sources=(info,),
    )


def split_path(folder: Path, split: PairSplit) -> Path:
    """Return the path of a split's pairs in a folder.

    They are in a folder or a file of the split's name (``train``, ``train.jsonl``,
    ``train.jsonl.gz``, ``train.json``), or where another format has its parts (``qrels/train.tsv``,
    DeepCS's ``train.desc.h5``).

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
    places = (place for each in all_formats() for place in each.places(folder, split))
    found = [place for place in places if place.exists()]
    if len(found) > 1:
        names = " and ".join(sorted(place.name for place in found))
        raise SourceError(f"{printable(folder)} has {names}: move all but one away")
    return found[0] if found else None


def _refuse_none(path: Path, pairs: Pairs) -> Pairs:
    if not len(pairs):
        reasons = ", ".join(f"{number:,} x {reason}" for reason, number in pairs.left_out.items())
        raise SourceError(
            f"{printable(path)} holds no pairs of a query and its code"
            f"{f' ({reasons})' if reasons else ''}: {PAIR_FORMS}"
        )
    return pairs
