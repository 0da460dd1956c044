"""Records of estimates without labels: what was estimated, and what it rests on.

All are values that JSON can hold. A record of one method stays below 16 KB but for the values of
its judged queries.
"""

from pydantic import Field

from infra.records import Record
from tasks.statistics.intervals import Interval

FEWEST_JUDGED = 30  # below, an interval by the t distribution is not to be relied on


class Score(Record):
    """What is known of one measure's mean over all queries.

    Attributes:
        kape: The estimate without labels.
        sample: Mean of the judged queries alone, with its interval; None without judged ones.
        combined: The same with control variates, never wider; None without judged ones.
        weights: Control variate → its weight in ``combined``, 0 where they do not help: ``KAPE``,
            and ``confidence`` where the codes that are searched are known.
    """

    kape: float
    sample: Interval | None = None
    combined: Interval | None = None
    weights: dict[str, float] = Field(default_factory=dict)


class JudgedValues(Record):
    """Values of the judged queries, from which methods are compared.

    Attributes:
        rows: Positions of the judged queries.
        true: Measure → true values, in the order of ``rows``.
        estimated: Measure → KAPE's estimates of them.
        population: Measure → mean of KAPE's estimates over all queries.
        confidence: How sure the method is of its best code, in the order of ``rows``; None where
            the codes are not known.
        mean_confidence: Over all queries.
    """

    rows: tuple[int, ...]
    true: dict[str, tuple[float, ...]]
    estimated: dict[str, tuple[float, ...]]
    population: dict[str, float]
    confidence: tuple[float, ...] | None = None
    mean_confidence: float = 0.0


class MethodEstimate(Record):
    """What is known of one method's scores on queries that are mostly unlabelled.

    Attributes:
        method: Its name.
        k: Neighbours of each query.
        training: Number of training pairs.
        queries: Number of queries.
        level: Of all intervals.
        scores: Measure → estimate, in the order asked for.
        judged: Values of the judged queries; None without any.
        notes: What a reader must know, each a sentence.
    """

    method: str
    k: int
    training: int
    queries: int
    level: float
    scores: dict[str, Score]
    judged: JudgedValues | None = None
    notes: tuple[str, ...] = ()


class Difference(Record):
    """Two methods over the same queries; a difference is the first's mean less the second's.

    Attributes:
        first: The one with the higher estimate.
        second: The other.
        kape: Difference of the estimates without labels.
        sample: Of the judged queries alone, with its interval; None without common judged ones.
        combined: With control variates, likewise.
    """

    first: str
    second: str
    kape: float
    sample: Interval | None = None
    combined: Interval | None = None


class MethodComparison(Record):
    """Several methods, ordered by their estimates.

    Attributes:
        measure: What they are ordered by.
        level: With which all intervals of the differences hold together (Bonferroni).
        order: Methods and estimates, falling: with judged queries the combined one, else KAPE's.
        differences: Of each two methods.
    """

    measure: str
    level: float
    order: tuple[tuple[str, float], ...]
    differences: tuple[Difference, ...]
