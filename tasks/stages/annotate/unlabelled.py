"""Pairs without a label, counted by what ended their judging."""

from collections import Counter

from infra.records import Annotation
from tasks.reports.text import counted, format_words, visible

_LONGEST_REASON = 200


class UnlabelledPairs:
    """Counts of pairs by their paths.

    Attributes:
        counts: Path → number of pairs.
        reasons: Path → reason of its first pair, on one line.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.reasons: dict[str, str] = {}

    def add(self, annotation: Annotation) -> None:
        """Count a pair."""
        self.counts[annotation.path] += 1
        if annotation.reason and annotation.path not in self.reasons:  # it may quote hostile text
            reason = visible(annotation.reason, _LONGEST_REASON)
            self.reasons[annotation.path] = " ".join(reason.split())

    def lines(self) -> tuple[str, ...]:
        """Return a line for each path, with the reason of its first pair."""
        return tuple(
            f"{counted(number, 'pairs')} without a label, {format_words(path)}: "
            f"{self.reasons.get(path, 'no reason is known')}"
            for path, number in self.counts.most_common()
        )
