"""Queries without labels, read from whatever holds queries."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from infra.errors import SourceError
from infra.identity import digest
from infra.records import normalise_query
from tasks.benchmarks.pair_lines import read_pair_lines
from tasks.benchmarks.pairs import benchmark_at, name_of
from tasks.files.json_lines import read_queries
from tasks.files.text import printable, read_text_lines

REPEATED = "query that is there already"
EMPTY = "query without text"

_OF_PAIRS = {"doc", "code", "code_tokens", "docstring", "docstring_tokens"}


@dataclass(frozen=True)
class QueryTexts:
    """Distinct queries.

    Attributes:
        name: What to call them: the benchmark's name, or that of the file or folder.
        texts: White space is folded (`infra.records.normalise_query`).
        left_out: Reason → number of queries that are not taken.
        fingerprint: Digest of the texts in their order.
    """

    name: str
    texts: tuple[str, ...]
    left_out: dict[str, int] = field(default_factory=dict)
    fingerprint: str = ""

    def __len__(self) -> int:
        return len(self.texts)


def read_query_texts(path: Path) -> QueryTexts:
    """Return the distinct queries of a file or folder in their order.

    Args:
        path: JSON Lines of queries, each as ``query`` or ``text``; or what
            `tasks.benchmarks.pairs.read_pairs` takes, of which all queries are taken, with a match
            or without.

    Raises:
        SourceError: There is no such path, a line is malformed, or there are no queries.
        PublishError: A file of an export is missing or changed.
    """
    benchmark = benchmark_at(path, needs_labels=False)
    if benchmark:
        return _distinct(benchmark.name, (query.text for query in benchmark.queries), path)
    if path.exists() and not (path.is_dir() or path.is_file()):
        raise SourceError(
            f"{printable(path)} is a pipe or a device, and it is read more than once: write the "
            "queries into a file"
        )
    if path.is_dir() or _holds_pairs(path):
        return _distinct(name_of(path), (line.query for line in read_pair_lines(path)), path)
    return _distinct(name_of(path), (query.text for _, query in read_queries(path)), path)


def _holds_pairs(file: Path) -> bool:
    """Return True if the first line is one of pairs; a JSON array is, too."""
    first = next((text for _, text in read_text_lines(file) if text.strip()), "")
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return first.lstrip().startswith("[")
    return isinstance(row, list) or (isinstance(row, dict) and not _OF_PAIRS.isdisjoint(row))


def _distinct(name: str, texts: Iterable[str], path: Path) -> QueryTexts:
    times = Counter(map(normalise_query, texts))
    left_out = Counter({EMPTY: times.pop("", 0)})
    left_out[REPEATED] = times.total() - len(times)
    if not times:
        raise SourceError(
            f'{printable(path)} holds no queries: write lines such as {{"query": "..."}}'
        )
    return QueryTexts(name, tuple(times), dict(+left_out), digest("queries", *times))
