"""Pairs of query and code, read from a benchmark or from files of pairs.

What a model was trained on, or is tested on, as lists of texts: an exported benchmark, a BEIR
folder, CodeSearchNet's files as published, or a file of labelled pairs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from infra.errors import SourceError
from infra.identity import digest
from infra.records import Record, caseless, normalise_code, normalise_query
from tasks.benchmarks.beir import beir_split, read_beir
from tasks.benchmarks.benchmark import Benchmark
from tasks.benchmarks.deepcs import ENDING, read_deepcs_pairs
from tasks.benchmarks.pair_lines import PAIR_FORMS, PairLine, read_pair_lines
from tasks.benchmarks.reader import is_export, read_benchmark
from tasks.files.text import printable

NO_MATCH = "query without a relevant code"
NO_DOCUMENTATION = "function without documentation"
NO_CODE = "documentation without code"
NOT_RELEVANT = "pair labelled 0"
EMPTY = "pair with an empty text"


@dataclass(frozen=True)
class Pairs:
    """Queries, each with a code that answers it.

    Attributes:
        name: What to call them: the benchmark's name, or that of the file or folder.
        queries: White space is folded (`infra.records.normalise_query`).
        codes: The code of each query, in the same order (`infra.records.normalise_code`); of a
            corpus without queries all of it.
        left_out: Reason → number of items that are no pair.
        fingerprint: Digest of the texts in their order.
    """

    name: str
    queries: tuple[str, ...]
    codes: tuple[str, ...]
    left_out: dict[str, int] = field(default_factory=dict)
    fingerprint: str = ""

    @classmethod
    def of(cls, name: str, pairs: Iterable[tuple[str, str]], left_out: Counter[str]) -> Self:
        """Return pairs of texts; one with an empty text is counted among those left out."""
        queries, codes = [], []
        for query, code in pairs:
            texts = normalise_query(query), normalise_code(code)
            if all(texts):
                queries.append(texts[0])
                codes.append(texts[1])
            else:
                left_out[EMPTY] += 1
        print_of = digest("pairs", *queries, *codes)
        return cls(name, tuple(queries), tuple(codes), dict(+left_out), print_of)

    def __len__(self) -> int:
        return len(self.queries)


def read_pairs(path: Path) -> Pairs:
    """Return the pairs of a benchmark, a folder or a file; a pair that is there twice counts twice.

    Args:
        path: One of

            - an exported benchmark, or a BEIR folder: each label with a relevance above 0 is a
              pair. A BEIR folder with several splits is named by one, as ``qrels/train.tsv``.
            - a folder with CodeSearchNet's ``*.jsonl`` or ``*.jsonl.gz`` as published
              (``final/jsonl/train``), or one of its files: the tokens of documentation and code,
              joined by blanks, as CodeXGLUE's models read them; where there are none, the first
              paragraph of the documentation, and the code without its documentation.
            - JSON Lines or a JSON array with ``query`` or ``doc``, ``code`` and maybe ``label``, as
              CoSQA is published: a label 0 is no pair, no label is a label 1.
            - ``PART.desc.h5`` of DeepCS's published data (`tasks.benchmarks.deepcs`).

    Raises:
        SourceError: There is no such path, a file is malformed or cut short, a query has no code,
            or there are no pairs.
        PublishError: A file of an export is missing or changed.
    """
    benchmark = benchmark_at(path)
    if path.name.endswith(ENDING):
        pairs = Pairs.of(name_of(path), read_deepcs_pairs(path), Counter())
    else:
        pairs = pairs_of(benchmark) if benchmark else _of_files(path)
    if not len(pairs):
        reasons = ", ".join(f"{number:,} x {reason}" for reason, number in pairs.left_out.items())
        raise SourceError(
            f"{printable(path)} holds no pairs of a query and its code"
            f"{f' ({reasons})' if reasons else ''}: {PAIR_FORMS}"
        )
    return pairs


def benchmark_at(path: Path, usual: str = "", *, needs_labels: bool = True) -> Benchmark | None:
    """Return the exported benchmark or BEIR folder at a path; None where it is neither.

    Args:
        path: A folder, or a file in the ``qrels`` of a BEIR folder, which names a split.
        usual: The split of a BEIR folder with several, if it has that one.
        needs_labels: Whether a BEIR folder without qrels is refused.

    Raises:
        SourceError: A BEIR folder has several splits, or a file of it is malformed.
        PublishError: A file of an export is missing or changed.
    """
    if is_export(path):
        return read_benchmark(path)
    split = beir_split(path, usual)
    return read_beir(*split, needs_labels=needs_labels) if split else None


def pairs_of(benchmark: Benchmark) -> Pairs:
    """Return a benchmark's queries, each with each of its relevant codes."""
    queries = {query.query_id: query.text for query in benchmark.queries}
    codes = {code.code_id: code.text for code in benchmark.codes}
    found = (label for label in benchmark.labels if label.code_id in codes)
    relevant = [label for label in found if label.relevance > 0]
    unmatched = queries.keys() - {label.query_id for label in relevant}
    return Pairs.of(
        benchmark.name,
        ((queries[label.query_id], codes[label.code_id]) for label in relevant),
        Counter({NO_MATCH: len(unmatched)}),
    )


def _of_files(path: Path) -> Pairs:
    left_out: Counter[str] = Counter()
    pairs = []
    for line in read_pair_lines(path):
        reason = _reason_to_leave_out(line)
        if reason:
            left_out[reason] += 1
        else:
            pairs.append((line.query, line.code))
    return Pairs.of(name_of(path), pairs, left_out)


def name_of(path: Path) -> str:
    """Return the name of a file or folder of texts, without its ending."""
    if path.is_dir():
        return printable(path.resolve().name)
    return printable(path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json"))


def _reason_to_leave_out(line: PairLine) -> str | None:
    if not line.query:
        return NO_DOCUMENTATION
    if not line.code:
        return NO_CODE
    return NOT_RELEVANT if line.label == 0 else None


class Overlap(Record):
    """Test pairs that are among the training pairs too; estimates are better than of others.

    Attributes:
        queries: Test queries that are a training query too, white space and capitals aside.
        pairs: Test pairs whose query and code are together in the training set.
        of: Number of test pairs.
    """

    queries: int
    pairs: int
    of: int


def overlap(training: Pairs, test: Pairs) -> Overlap:
    """Return the number of test pairs that are in the training set."""
    known = set(_without_capitals(training))
    return Overlap(
        queries=shared_queries(training.queries, test.queries),
        pairs=sum(pair in known for pair in _without_capitals(test)),
        of=len(test),
    )


def shared_queries(training: Iterable[str], queries: Iterable[str]) -> int:
    """Return the number of queries that are training queries too, capitals aside.

    Args:
        training: Normalised texts (`infra.records.normalise_query`).
        queries: Likewise.
    """
    known = set(map(caseless, training))
    return sum(caseless(text) in known for text in queries)


def _without_capitals(pairs: Pairs) -> Iterator[tuple[str, str]]:
    """Yield queries without capitals, each with its code."""
    for query, code in zip(pairs.queries, pairs.codes, strict=True):
        yield caseless(query), code
