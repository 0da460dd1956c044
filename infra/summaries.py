"""Summaries of many annotations, as the store counts and reports show them."""

from infra.records import Record


class Cost(Record):
    """Calls, tokens, cost and time of annotations; None is unknown, which is not 0."""

    calls: int
    cached_calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    model_seconds: float
    pair_seconds: float


class GoldCounts(Record):
    """The results of gold questions, pairs with known labels mixed into the runs.

    Attributes:
        judged: Gold questions that got a label.
        wrong_codes: Judged questions whose code does not answer the query.
        false_passes: Of these, the number labelled 1.
        false_fails: Of the other judged questions, the number labelled 0.
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
        """Judged questions whose code answers the query."""
        return self.judged - self.wrong_codes

    @property
    def wrong(self) -> int:
        """Questions that were judged wrongly."""
        return self.false_passes + self.false_fails


class LabelFigures(Record):
    """Counts of the judgements that support the current labels: value → judgements.

    The cost is of these and of the tries of pairs that failed. Cached replies cost nothing; the
    cost is unknown if that of one reply is.
    """

    queries: int  # with a pair that was judged, or that failed
    pairs: int
    statuses: dict[str, int]
    labels: dict[str, int]  # "1", "0", "none"
    paths: dict[str, int]
    support: dict[str, int]
    outcomes: dict[str, int]  # runs of test programs
    recipes: dict[str, int]
    cost: Cost


class RankCounts(Record):
    """The labelled candidates of one rank, and how many of them match."""

    rank: int
    labelled: int
    matches: int


class PairCost(Record):
    """Pairs of one kind, with time and cost of all their calls, cached ones included.

    Attributes:
        seconds: Sum over the pairs, see `infra.store.figures.pair_costs`.
        dollars: None where the cost of a call is unknown.
    """

    kind: str
    pairs: int
    seconds: float
    dollars: float | None


class ProgramCounts(Record):
    """The last programs of pairs: how many, the test functions in them, and how many ran."""

    programs: int
    tests: int
    executed: int


class PeopleFigures(Record):
    """People's work on samples: choices, and blind labels of known time; means are in minutes."""

    preferences: int  # choices between a pair's code and its rival
    preferred: int  # those for the pair's code
    timed_without_program: int
    minutes_without_program: float | None
    timed_with_program: int
    minutes_with_program: float | None
