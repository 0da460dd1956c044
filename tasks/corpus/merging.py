"""Collections made from a source's items, filtered and without duplicates."""

import logging
from collections import Counter
from collections.abc import Iterable

from infra.errors import SourceError
from infra.records import Code, Collected, Label, Query, SourceInfo
from tasks.filters import CorpusFunction, Filter

CONFLICT = "label of a pair that has a higher one"
REPEATED_LABEL = "label given twice"
REPEATED_QUERY = "query equal to an earlier one"
REPEATED_CODE = "function equal to an earlier one"
LABEL_OF_DROPPED = "label of a dropped function"

_logger = logging.getLogger(__name__)


class Merged:
    """Collects queries, functions and labels, and counts what is dropped by reason.

    Texts that are equal when normalised are one query or one function.

    Args:
        keep: Filter of the functions.
    """

    def __init__(self, keep: Filter) -> None:
        self._keep = keep
        self._queries: dict[str, Query] = {}
        self._codes: dict[str, Code] = {}
        self._labels: dict[tuple[str, str], Label] = {}
        self._dropped: Counter[str] = Counter()

    def add_queries(self, queries: Iterable[Query]) -> None:
        """Add queries; of equal ones the first stays."""
        for query in queries:
            if self._queries.setdefault(query.query_id, query) is not query:
                self._dropped[REPEATED_QUERY] += 1

    def add_function(self, function: CorpusFunction) -> None:
        """Add a function, unless an equal one is there already or the filter drops it."""
        code = function.code
        known = code.code_id in self._codes
        reason = REPEATED_CODE if known else self._keep.reason_to_drop(function)
        if reason is None:
            self._codes[code.code_id] = code
        else:
            self._dropped[reason] += 1
            _logger.debug("%s is dropped: %s", code.origin, reason)

    def add_labels(self, labels: Iterable[Label]) -> None:
        """Add labels of one origin, after the functions; of two for one pair the higher stays."""
        for label in labels:
            key = (label.query_id, label.code_id)
            if label.code_id not in self._codes:
                self._dropped[LABEL_OF_DROPPED] += 1
                continue
            earlier = self._labels.setdefault(key, label)
            if earlier is not label:
                same = earlier.relevance == label.relevance
                self._dropped[REPEATED_LABEL if same else CONFLICT] += 1
                self._labels[key] = max(earlier, label, key=lambda label: label.relevance)

    def collected(self, info: SourceInfo, dropped: Counter[str] | None = None) -> Collected:
        """Return the collection in the order of addition.

        Args:
            info: Where it comes from.
            dropped: Reason → number of items that were dropped before they came here.

        Raises:
            SourceError: The filter drops every function.
        """
        dropped = self._dropped + (dropped or Counter())
        if not self._codes:
            reasons = ", ".join(f"{number:,} x {reason}" for reason, number in dropped.items())
            raise SourceError(
                f"source {info.name} has no function that its filters keep ({reasons}): set "
                "source.filters, or give other input"
            )
        return Collected(
            info=info,
            queries=tuple(self._queries.values()),
            codes=tuple(self._codes.values()),
            labels=tuple(self._labels.values()),
            dropped=dict(dropped),
        )
