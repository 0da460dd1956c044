"""What becomes one when texts are normalised: equal queries, functions and labels of a pair."""

from collections.abc import Iterable

from infra.records import Code, Label, Query

CONFLICT = "label of a pair that has a higher one"
REPEATED_LABEL = "label given twice"
REPEATED_QUERY = "query equal to an earlier one"
REPEATED_CODE = "function equal to an earlier one"


class Merged:
    """Collects queries, functions and labels, each once, and counts what was there already."""

    def __init__(self) -> None:
        self._queries: dict[str, Query] = {}
        self._codes: dict[str, Code] = {}
        self._labels: dict[tuple[str, str], Label] = {}
        self._dropped: dict[str, int] = {}

    def add_queries(self, queries: Iterable[Query]) -> None:
        """Add queries; of equal ones the first stays."""
        for query in queries:
            if self._queries.setdefault(query.query_id, query) is not query:
                self._count(REPEATED_QUERY)

    def add_codes(self, codes: Iterable[Code]) -> None:
        """Add functions; of equal ones the first stays."""
        for code in codes:
            if self._codes.setdefault(code.code_id, code) is not code:
                self._count(REPEATED_CODE)

    def add_labels(self, labels: Iterable[Label]) -> None:
        """Add labels of one origin; of two for one pair the higher stays."""
        for label in labels:
            key = (label.query_id, label.code_id)
            held = self._labels.setdefault(key, label)
            if held is label:
                continue
            self._count(REPEATED_LABEL if held.relevance == label.relevance else CONFLICT)
            self._labels[key] = max(held, label, key=lambda each: each.relevance)

    @property
    def queries(self) -> tuple[Query, ...]:
        """The queries in the order of their coming."""
        return tuple(self._queries.values())

    @property
    def codes(self) -> tuple[Code, ...]:
        """The functions in the order of their coming."""
        return tuple(self._codes.values())

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels in the order of their coming."""
        return tuple(self._labels.values())

    @property
    def dropped(self) -> dict[str, int]:
        """How many items were merged into others, by reason."""
        return dict(self._dropped)

    def _count(self, reason: str) -> None:
        self._dropped[reason] = self._dropped.get(reason, 0) + 1
