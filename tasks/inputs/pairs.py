"""Pairs of query and code: what a model was trained on, or is tested on, as lists of texts."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from infra.identity import digest
from infra.records import Record, caseless, normalise_code, normalise_query
from tasks.benchmarks.benchmark import Benchmark

PAIR_FORMS = (
    'write lines such as {"query": "...", "code": "def ...", "label": 1}, or name an exported '
    "benchmark, a BEIR folder or a folder of CodeSearchNet's jsonl files"
)
NO_MATCH = "query without a relevant code"
EMPTY = "pair with an empty text"

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
                left_out[EMPTY] += 1
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
