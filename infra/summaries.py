"""Summaries of many annotations: what they cost, and how the canaries among them were judged."""

from infra.records import Record


class Effort(Record):
    """Calls, tokens, cost and time of annotations; None is unknown, which is not 0."""

    calls: int
    cached_calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    model_seconds: float
    pair_seconds: float


class CanaryCounts(Record):
    """How canaries, pairs with known labels mixed into the runs, were judged.

    Attributes:
        judged: Canaries that got a label.
        wrong_codes: Judged canaries whose code does not answer the query.
        false_passes: Of these, the number labelled 1.
        false_fails: Of the other judged canaries, the number labelled 0.
    """

    judged: int = 0
    wrong_codes: int = 0
    false_passes: int = 0
    false_fails: int = 0

    @property
    def right_codes(self) -> int:
        """Judged canaries whose code answers the query."""
        return self.judged - self.wrong_codes

    @property
    def wrong(self) -> int:
        """Canaries that were judged wrongly."""
        return self.false_passes + self.false_fails
