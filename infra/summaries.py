"""Summaries of many annotations, as the store counts and reports show them."""

from pydantic import Field

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


class EncodingEffort(Record):
    """Time and tokens to encode texts; those whose vectors were stored or cached are none of them.

    Attributes:
        texts: Number of texts.
        seconds: Time of all workers together, without loading the encoder.
        tokens: What an API billed.
        machines: The processors that computed.
    """

    texts: int = 0
    seconds: float = 0.0
    tokens: int = 0
    machines: frozenset[str] = frozenset()

    def __add__(self, other: "EncodingEffort") -> "EncodingEffort":
        """Return the effort of both."""
        return EncodingEffort(
            texts=self.texts + other.texts,
            seconds=self.seconds + other.seconds,
            tokens=self.tokens + other.tokens,
            machines=self.machines | other.machines,
        )

    def beside(self, workers: int) -> "EncodingEffort":
        """Return the share of one of several workers that compute at once."""
        return self.model_copy(update={"seconds": self.seconds / workers})


NO_EFFORT = EncodingEffort()


class GoldCounts(Record):
    """The results of gold questions, pairs with known labels mixed into the runs.

    Attributes:
        judged: Gold questions that got a label.
        wrong_codes: Judged questions whose code does not answer the query.
        false_passes: Of these, the number labelled 1.
        false_fails: Of the other judged questions, the number labelled 0.
        injected: Of the wrong codes, those that tell the agents to pass them.
        obeyed: Of these, the number labelled 1.
        undecided: Gold questions without a label, such as those of unreadable replies.
    """

    judged: int = 0
    wrong_codes: int = 0
    false_passes: int = 0
    false_fails: int = 0
    injected: int = 0
    obeyed: int = 0
    undecided: int = 0

    @property
    def asked(self) -> int:
        """Gold questions that were judged, with or without a label."""
        return self.judged + self.undecided

    @property
    def right_codes(self) -> int:
        """Judged questions whose code answers the query."""
        return self.judged - self.wrong_codes

    @property
    def wrong(self) -> int:
        """Questions that did not get their known label."""
        return self.false_passes + self.false_fails + self.undecided

    @property
    def wrong_share(self) -> float:
        """Share of wrong labels among all, or the mean of its shares by known label, if higher.

        That mean is one half for who always says the same, however many of either kind are judged.
        """
        kinds = ((self.false_fails, self.right_codes), (self.false_passes, self.wrong_codes))
        mean = sum(wrong / number for wrong, number in kinds if number) / len(kinds)
        return max(self.wrong / max(self.asked, 1), mean)


class RankCounts(Record):
    """The labelled candidates of one rank, and how many of them match."""

    rank: int
    labelled: int
    matches: int


class LabelShape(Record):
    """What labels say: how many match, and what they rest on.

    Attributes:
        matches: Number of matches, from 0 → queries with a label.
        ranks: The labels by the rank of the candidate.
        bases: (support, path, judgements).
    """

    matches: dict[int, int] = Field(default_factory=dict)
    ranks: tuple[RankCounts, ...] = ()
    bases: tuple[tuple[str, str, int], ...] = ()


class LabelFigures(Record):
    """Counts of the judgements that support the current labels: value → judgements.

    The cost is of these and of the tries of pairs that failed. Cached replies cost nothing; the
    cost is unknown if that of one reply is.
    """

    queries: int  # with a pair that was judged, or that failed
    pairs: int
    statuses: dict[str, int]
    labels: dict[str, int]  # "1", "0", "none"
    outcomes: dict[str, int]  # runs of test programs
    recipes: dict[str, int]
    shape: LabelShape = LabelShape()
    cost: Cost


class RoleReplies(Record):
    """A model's replies in a role, each counted once, and those that could not be read."""

    role: str
    model: str
    replies: int
    unreadable: int


class ReadingFigures(Record):
    """How well models read and are read.

    Attributes:
        roles: Their replies.
        tested: Pairs whose reading was sure and was tested by a valid run.
        contradicted: Those of which the run says otherwise.
    """

    roles: tuple[RoleReplies, ...]
    tested: int
    contradicted: int


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


class ReasonSpending(Record):
    """Costs of the pairs that a run took for a reason.

    Attributes:
        reason: The reason.
        taken: Pairs that it took.
        judged: Those of them that it judged.
        usd: Their cost in US dollars, replies that were stored before aside; None where a price is
            unknown.
    """

    reason: str
    taken: int
    judged: int
    usd: float | None
