"""Summaries of many annotations: cost, canaries, and labels of codes that behave alike."""

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
        injected: Of the wrong codes, those that tell the agents to pass them.
        obeyed: Of these, the number labelled 1.
    """

    judged: int = 0
    wrong_codes: int = 0
    false_passes: int = 0
    false_fails: int = 0
    injected: int = 0
    obeyed: int = 0

    @property
    def right_codes(self) -> int:
        """Judged canaries whose code answers the query."""
        return self.judged - self.wrong_codes

    @property
    def wrong(self) -> int:
        """Canaries that were judged wrongly."""
        return self.false_passes + self.false_fails


class BehaviourFigures(Record):
    """How labels compare that were given to candidates of one query.

    Attributes:
        queries: Queries whose candidates were compared.
        consistency: Mean over queries of the share of pairs of codes of equal behaviour that were
            labelled alike; None where no two codes behave alike.
        changed: Labels that are others since.
        contradictions: Labels that still differ from one of a code of equal behaviour.
    """

    queries: int
    consistency: float | None
    changed: int
    contradictions: int
