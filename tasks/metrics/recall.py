"""Recall."""

from typing import ClassVar

from tasks.metrics import Gains, metrics


@metrics.register("Recall@10")
class Recall10:
    """Share of all relevant codes that are among the first 10 results (trec_eval's recall.10)."""

    name: ClassVar[str] = "Recall@10"
    depth: ClassVar[int | None] = 10

    def score(self, gains: Gains, ideal: Gains) -> Gains:
        """Return the recall of each query."""
        values: Gains = (gains > 0).sum(axis=1) / (ideal > 0).sum(axis=1)
        return values
