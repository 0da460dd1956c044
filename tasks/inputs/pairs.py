"""Queries, and pairs of query and code, as lists of texts; the files that people write of them.

Pairs are what a model was trained on, or is tested on. A file of true pairs is JSON Lines, or a
JSON array as CoSQA publishes its pairs: each item has ``query`` (or ``doc``), ``code`` and
``label``, and may have ``language``, and ``labels``: the name of an annotator, or of a group, to
their label (0, 1, or null where they were undecided).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Annotated, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from infra.errors import SourceError
from infra.identity import PairKey, digest
from infra.records import (
    Code,
    GivenVote,
    Pair,
    Query,
    Record,
    caseless,
    normalise_code,
    normalise_query,
)
from infra.subsets import ALL, Draw
from tasks.benchmarks.benchmark import Benchmark
from tasks.inputs.lines import Line, StrictRow, read_items, read_lines, refuse_repeated
from tasks.inputs.text import printable, read_text_lines

REPEATED = "query that is there already"
EMPTY_QUERY = "query without text"

_TEXTS = ("", ".txt", ".text")


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

    @classmethod
    def of(cls, name: str, texts: Iterable[str]) -> Self:
        """Return the distinct texts in their order; what is left out is counted."""
        times = Counter(map(normalise_query, texts))
        left_out = Counter({EMPTY_QUERY: times.pop("", 0)})
        left_out[REPEATED] = times.total() - len(times)
        return cls(name, tuple(times), dict(+left_out), digest("queries", *times))

    def __len__(self) -> int:
        return len(self.texts)


class QueryRow(StrictRow):
    """A line of a file of queries: the question as ``query`` or ``text``, and maybe an ``id``."""

    query: str | None = None
    text: str | None = None
    id: str | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _has_one_question(self) -> Self:
        if (self.query is None) == (self.text is None):
            raise ValueError('give the question as either "query" or "text"')
        return self


def read_queries(file: Path) -> list[tuple[str | None, Query]]:
    """Return the queries of a file in its order, each with the id it was given.

    A text file, by its name, has one on each line, unless it begins as JSON Lines do.

    Raises:
        SourceError: A line is malformed, a query is empty, an id is given twice, or there is none.
    """
    queries = []
    for place, row in _query_rows(file):
        text = row.query or row.text or ""
        if not text.strip():
            raise SourceError(f"{place}: the query is empty: write one or delete the line")
        queries.append((row.id, Query.of(text, Path(place).name)))
    if not queries:
        raise SourceError(
            f'{file} holds no queries: write lines such as {{"query": "..."}}, or one on each line '
            "of a file that ends with .txt"
        )
    refuse_repeated((identity, query.origin) for identity, query in queries)
    return queries


def _begins_an_array(line: str) -> bool:
    """Return True if a line is an array of JSON, or the beginning of one over several lines."""
    text = line.strip()
    try:
        return text.startswith("[") and JSONDecoder().raw_decode(text)[1] == len(text)
    except JSONDecodeError as error:
        return error.pos == len(text)
    except RecursionError:
        return True


def _query_rows(file: Path) -> Iterator[Line[QueryRow]]:
    lines = ((number, text) for number, text in read_text_lines(file) if text.strip())
    number, first = next(lines, (1, "{"))
    if first.lstrip().startswith("{"):
        yield from read_lines(file, QueryRow)
        return
    if file.suffix.lower() not in _TEXTS or _begins_an_array(first):
        expected = (
            'one object a line is expected, no array: write lines such as {"query": "..."}'
            if first.lstrip().startswith("[")
            else 'lines of JSON such as {"query": "..."} are expected, or a .txt file with a query '
            "a line"
        )
        raise SourceError(f"{printable(file)}:{number}: {expected}")
    for number, text in read_text_lines(file):
        if text.strip():
            yield Line(f"{printable(file)}:{number}", QueryRow(query=text.strip()))


PAIR_FORMS = (
    'write lines such as {"query": "...", "code": "def ...", "label": 1}, or name an exported '
    "benchmark, a BEIR folder or a folder of CodeSearchNet's jsonl files"
)
NO_MATCH = "query without a relevant code"
EMPTY_PAIR = "pair with an empty text"

PairLabel = Annotated[int, Field(ge=0, le=1)]


class PairRow(BaseModel):
    """A pair as files have it: CoSQA's say ``doc`` for the query."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    query: str | None = Field(None, validation_alias=AliasChoices("query", "doc"))
    code: str | None = None
    language: str = ""
    label: PairLabel = 1


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
                left_out[EMPTY_PAIR] += 1
        print_of = digest("pairs", *queries, *codes)
        return cls(name, tuple(queries), tuple(codes), dict(+left_out), print_of)

    def __len__(self) -> int:
        return len(self.queries)


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
    """Return the number of normalised queries that are training queries too, capitals aside."""
    known = set(map(caseless, training))
    return sum(caseless(text) in known for text in queries)


def _without_capitals(pairs: Pairs) -> Iterator[tuple[str, str]]:
    """Yield queries without capitals, each with its code."""
    for query, code in zip(pairs.queries, pairs.codes, strict=True):
        yield caseless(query), code


class _Item(PairRow):
    query: str = Field(validation_alias=AliasChoices("query", "doc"))
    code: str
    label: PairLabel
    labels: dict[str, PairLabel | None] = Field(default_factory=dict)


class TruePair(Record):
    """A pair with its true label and those of annotators; ``place`` is its file and line."""

    pair: Pair
    label: int
    by_people: dict[str, int | None]
    place: str = ""

    @property
    def key(self) -> PairKey:
        """Ids of query and code."""
        return self.pair.key

    def votes(self, origin: str) -> list[GivenVote]:
        """Return the labels as votes; the true label's annotator has no name."""
        query_id, code_id = self.key
        return [
            GivenVote(
                query_id=query_id,
                code_id=code_id,
                annotator=name,
                origin=origin,
                relevance=label,
                place=self.place,
            )
            for name, label in {**self.by_people, "": self.label}.items()
        ]


def read_truth(file: Path, draw: Draw = ALL) -> tuple[TruePair, ...]:
    """Return the pairs drawn of the distinct ones of a file, in its order.

    Raises:
        SourceError: The file is missing or holds no pair, an item is malformed, or two items
            contradict each other.
    """
    pairs: dict[PairKey, TruePair] = {}
    for place, item in read_items(file, _Item):
        try:
            texts = Pair(
                query=Query.of(item.query), code=Code.of(item.code, language=item.language)
            )
        except ValueError as error:
            raise SourceError(f"{place}: {error}") from None
        pair = TruePair(pair=texts, label=item.label, by_people=item.labels, place=place)
        if pairs.setdefault(pair.key, pair).label != pair.label:
            raise SourceError(f"{place} contradicts the label of the same pair before it")
    if not pairs:
        raise SourceError(
            f'{printable(file)} holds no pairs: write lines such as {{"query": "...", '
            '"code": "def ...", "label": 1}'
        )
    chosen = draw.of(" ".join(key) for key in pairs)
    return tuple(pair for key, pair in pairs.items() if " ".join(key) in chosen)
