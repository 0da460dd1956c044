"""Items of a source, filtered and without duplicates."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator

from infra.collected import Item, Streamed
from infra.errors import SourceError
from infra.records import Code, Label, Query, SourceInfo
from tasks.filters import CorpusFunction, Filter, notes_of, reason_to_drop_query


class QueryReason(str):
    """A reason to drop queries or labels, and no code: it counts where the code is others', too."""

    __slots__ = ()


CONFLICT = QueryReason("label of a pair that has a higher one")
REPEATED_LABEL = QueryReason("label given twice")
REPEATED_QUERY = QueryReason("query equal to an earlier one")
REPEATED_CODE = "function equal to an earlier one"
LABEL_OF_DROPPED = "label of a dropped query or function"

_logger = logging.getLogger(__name__)


class Deduplicator:
    """Lets items of one collection through, and counts by reason what it drops.

    Texts that are equal when normalised are one query or one function: the first stays. Of what
    passed, only a digest of each id is kept, so that a source may be larger than memory.

    Args:
        keep: Filter of functions and queries.

    Attributes:
        dropped: Reason → number of items.
        notes: Sentences for the log.
    """

    def __init__(self, keep: Filter) -> None:
        self.dropped: Counter[str] = Counter()
        self.notes: list[str] = []
        self._keep = keep
        self._queries: set[bytes] = set()
        self._dropped_queries: set[bytes] = set()
        self._codes: set[bytes] = set()
        self._pairs: set[bytes] = set()

    def queries(self, queries: Iterable[Query]) -> Iterator[Query]:
        """Yield the queries that are equal to no earlier one and that the filter keeps."""
        for query in queries:
            short = _short(query.query_id)
            if not _added(short, self._queries):
                self.dropped[REPEATED_QUERY] += 1
            elif reason := reason_to_drop_query(self._keep, query):
                self.dropped[QueryReason(reason)] += 1
                self._dropped_queries.add(short)
            else:
                yield query

    def codes(self, functions: Iterable[CorpusFunction]) -> Iterator[Code]:
        """Yield the functions that are equal to no earlier one and that the filter keeps."""
        for function in functions:
            code = function.code
            known = self.has_code(code.code_id)
            reason = REPEATED_CODE if known else self._keep.reason_to_drop(function)
            if reason is None:
                _added(_short(code.code_id), self._codes)
                yield code
            else:
                self.dropped[reason] += 1
                _logger.debug("%s is dropped: %s", code.origin, reason)

    def has_code(self, code_id: str) -> bool:
        """Return True if a function with this id has passed."""
        return _short(code_id) in self._codes

    def new_labels(self, labels: Iterable[Label]) -> Iterator[Label]:
        """Yield, as they come, the labels of pairs that had none before; they do not conflict."""
        for label in labels:
            if _short(label.query_id) in self._dropped_queries:
                self.dropped[LABEL_OF_DROPPED] += 1
            elif _added(_short(label.query_id) + _short(label.code_id), self._pairs):
                yield label
            else:
                self.dropped[REPEATED_LABEL] += 1

    def labels(self, labels: Iterable[Label]) -> list[Label]:
        """Return labels of one origin of what has passed; of a pair's labels the highest."""
        best: dict[tuple[str, str], Label] = {}
        for label in labels:
            is_dropped = _short(label.query_id) in self._dropped_queries
            if is_dropped or not self.has_code(label.code_id):
                self.dropped[LABEL_OF_DROPPED] += 1
                continue
            earlier = best.setdefault(label.key, label)
            if earlier is not label:
                same = earlier.relevance == label.relevance
                self.dropped[REPEATED_LABEL if same else CONFLICT] += 1
                best[label.key] = max(earlier, label, key=lambda label: label.relevance)
        return list(best.values())

    def streamed(self, info: SourceInfo, items: Iterable[Item]) -> Streamed:
        """Return a content of items that come through this object's methods as they are read.

        Reading it raises a `SourceError` at its end when the filter has dropped every function.
        """

        def read() -> Iterator[Item]:
            yield from items
            if not self._codes:
                reasons = ", ".join(f"{number:,} x {why}" for why, number in self.dropped.items())
                raise SourceError(
                    f"source {info.name} has no function that its filters keep ({reasons}): set "
                    "source.filters, or give other input"
                )
            self.notes.extend(notes_of(self._keep))

        return Streamed(info, read(), self.dropped, self.notes)


def _short(identity: str) -> bytes:
    """Return the digest in a content-derived id, a third of its size in memory."""
    return bytes.fromhex(identity[1:])


def _added(short: bytes, seen: set[bytes]) -> bool:
    before = len(seen)
    seen.add(short)
    return len(seen) > before
