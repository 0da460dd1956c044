"""Items of a source, filtered and without duplicates."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator

from infra.collected import Collected, Item, Streamed, whole
from infra.errors import SourceError
from infra.records import Code, Label, Query, SourceInfo
from tasks.filters import CorpusFunction, Filter, notes_of

CONFLICT = "label of a pair that has a higher one"
REPEATED_LABEL = "label given twice"
REPEATED_QUERY = "query equal to an earlier one"
REPEATED_CODE = "function equal to an earlier one"
LABEL_OF_DROPPED = "label of a dropped function"

_logger = logging.getLogger(__name__)


class Merged:
    """Lets items of one collection through, and counts by reason what it drops.

    Texts that are equal when normalised are one query or one function: the first stays. Of what
    passed, only a digest of each id is kept, so that a source may be larger than memory. A small
    source may gather instead: it calls the methods ``add_*``, and `collected` at the end.

    Args:
        keep: Filter of the functions.

    Attributes:
        dropped: Reason → number of items.
    """

    def __init__(self, keep: Filter) -> None:
        self.dropped: Counter[str] = Counter()
        self._keep = keep
        self._queries: set[bytes] = set()
        self._codes: set[bytes] = set()
        self._pairs: set[bytes] = set()
        self._items: list[Item] = []

    def queries(self, queries: Iterable[Query]) -> Iterator[Query]:
        """Yield the queries that are equal to no earlier one."""
        for query in queries:
            if _added(_short(query.query_id), self._queries):
                yield query
            else:
                self.dropped[REPEATED_QUERY] += 1

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
            if _added(_short(label.query_id) + _short(label.code_id), self._pairs):
                yield label
            else:
                self.dropped[REPEATED_LABEL] += 1

    def labels(self, labels: Iterable[Label]) -> list[Label]:
        """Return labels of one origin whose functions have passed; of a pair's the highest."""
        best: dict[tuple[str, str], Label] = {}
        for label in labels:
            if not self.has_code(label.code_id):
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
        notes: list[str] = []

        def read() -> Iterator[Item]:
            yield from items
            if not self._codes:
                reasons = ", ".join(f"{number:,} x {why}" for why, number in self.dropped.items())
                raise SourceError(
                    f"source {info.name} has no function that its filters keep ({reasons}): set "
                    "source.filters, or give other input"
                )
            notes.extend(notes_of(self._keep))

        return Streamed(info, read(), self.dropped, notes)

    def add_queries(self, queries: Iterable[Query]) -> None:
        """Add queries; of equal ones the first stays."""
        self._items.extend(self.queries(queries))

    def add_function(self, function: CorpusFunction) -> None:
        """Add a function, unless an equal one is there already or the filter drops it."""
        self._items.extend(self.codes([function]))

    def add_labels(self, labels: Iterable[Label]) -> None:
        """Add all labels, after the functions; of two for one pair the higher stays."""
        self._items.extend(self.labels(labels))

    def collected(self, info: SourceInfo, dropped: Counter[str] | None = None) -> Collected:
        """Return the added items, in their order.

        Args:
            info: Where it comes from.
            dropped: Reason → number of items that were dropped before they came here.

        Raises:
            SourceError: The filter drops every function.
        """
        self.dropped.update(dropped or {})
        return whole(self.streamed(info, self._items))


def _short(identity: str) -> bytes:
    """Return the digest in a content-derived id, a third of its size in memory."""
    return bytes.fromhex(identity[1:])


def _added(short: bytes, seen: set[bytes]) -> bool:
    before = len(seen)
    seen.add(short)
    return len(seen) > before
