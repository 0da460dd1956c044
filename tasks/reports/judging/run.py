"""A run of judges in figures."""

from typing import Self

from infra.records import Annotation, Record
from infra.summaries import CanaryCounts

_LONGEST_REASON = 200


class JudgedPair(Record):
    """A judged pair by its ids, with how it ended."""

    query_id: str
    code_id: str
    recipe_id: str
    status: str
    path: str
    seconds: float
    reason: str

    @classmethod
    def of(cls, annotation: Annotation) -> Self:
        """Return the pair of an annotation."""
        return cls(
            query_id=annotation.query_id,
            code_id=annotation.code_id,
            recipe_id=annotation.recipe_id,
            status=annotation.status,
            path=str(annotation.path),
            seconds=annotation.seconds,
            reason=annotation.reason[:_LONGEST_REASON],
        )


class JudgedRun(Record):
    """A run of judges.

    Attributes:
        collection: Whose pairs were judged.
        model: The language model.
        pending: Pairs that were to be judged, without canaries.
        canaries: How pairs with known labels were judged.
        endings: (status, path, label, number of pairs), the most frequent first.
        spent_usd: What the run has cost so far, with its other rounds and judges.
        spent_tokens: The same in tokens.
        slowest: The slowest pairs, the slowest first.
        failed: The first pairs that failed.
    """

    collection: str
    model: str
    pending: int
    canaries: CanaryCounts
    endings: tuple[tuple[str, str, int | None, int], ...]
    spent_usd: float
    spent_tokens: int
    slowest: tuple[JudgedPair, ...]
    failed: tuple[JudgedPair, ...]

    @property
    def judged(self) -> int:
        """Number of judged pairs."""
        return sum(number for *_, number in self.endings)

    def with_status(self, status: str) -> int:
        """Return the number of judged pairs of a status."""
        return sum(number for name, _, _, number in self.endings if name == status)

    def most_often(self, status: str) -> str:
        """Return the most frequent path of a status in words, with a reason where one is known."""
        path = next((path for name, path, _, _ in self.endings if name == status), "")
        reasons = [pair.reason for pair in self.failed if pair.path == path and pair.reason]
        return f"{path.replace('_', ' ')} ({reasons[0]})" if reasons else path.replace("_", " ")
