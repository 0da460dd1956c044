"""Figures of the KAPE study of one model on one data set, as records that JSON can hold.

Source: KAPE, section 5 (research questions 1 to 4); `tasks.estimation.study` computes them.
"""

from typing import Literal

from pydantic import Field

from infra.records import Record
from tasks.estimators.kape import WEIGHTINGS, NeighboursUsed, Weighting
from tasks.inputs.pairs import Overlap

Part = Literal["all", "similar", "different"]

BUDGETS = (1, 3, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50)  # per cent of the test queries
SIMILARITY_STEPS = 20
KAPE_WEIGHTING: Weighting = WEIGHTINGS[-1]

# Measure → values: one a budget, one a k, or a single one; which of these, the field says.
ByMeasure = dict[str, tuple[float, ...]]


class RivalFigures(Record):
    """A rival's estimates: one at each of `BUDGETS`, or a single one where it needs no labels.

    Attributes:
        estimator: Its name.
        uses_labels: Whether it has test queries labelled, as many as the budget allows.
        is_stable: Whether every seed gives the same estimate.
        means: Mean of the estimates over the seeds.
        deviations: Their population deviation over the seeds.
    """

    estimator: str
    uses_labels: bool
    is_stable: bool
    means: ByMeasure
    deviations: ByMeasure


class PartFigures(Record):
    """Figures of all test queries, or of one half of them (research question 3).

    Attributes:
        part: Which queries: all, or the half with the higher or the lower similarity to the
            nearest training query.
        queries: Number of queries; their codes alone are ranked.
        truth: Measure → mean over the queries.
        kape: Weighting → measure → estimates for k = 1, 2, ... 10.
        rivals: In alphabetical order.
        similarities: Queries by the cosine with their nearest training query: the numbers of
            those up to .05, up to .1, ... up to 1.
    """

    part: Part
    queries: int
    truth: dict[str, float]
    kape: dict[Weighting, ByMeasure]
    rivals: tuple[RivalFigures, ...]
    similarities: tuple[int, ...] = Field(min_length=SIMILARITY_STEPS, max_length=SIMILARITY_STEPS)

    def kape_estimate(self, k: int, measure: str) -> float:
        """Return KAPE's estimate with k neighbours."""
        return self.kape[KAPE_WEIGHTING][measure][k - 1]


class NearestPair(Record):
    """A test query and its nearest training query (Table 1).

    Attributes:
        row: Position of the test query.
        nearest_row: Position of the training query.
        rank: Of the test query's code among all test codes.
        nearest_rank: Of the training query's code among the codes of all the nearest.
        similarity: Cosine of both queries.
    """

    row: int
    nearest_row: int
    rank: int
    nearest_rank: int
    similarity: float


class StudyFigures(Record):
    """All figures of one model on one training and test set.

    Attributes:
        training: Training pairs.
        validation: Validation pairs.
        validation_truth: Measure → mean over these, each ranked among their codes.
        queries: Test queries.
        parts: All test queries, then the similar and the different half; without the halves where
            there is but one query.
        neighbours: For k = 3, ... 10.
        used: Neighbours used at k = 10 → number of queries.
        nearest: At most ten test queries, evenly spaced, with their nearest training queries.
        equal_ranks: Share of all test queries whose rank is that of the nearest.
    """

    training: int
    validation: int
    validation_truth: dict[str, float]
    queries: int
    parts: tuple[PartFigures, ...]
    neighbours: tuple[NeighboursUsed, ...]
    used: dict[int, int]
    nearest: tuple[NearestPair, ...]
    equal_ranks: float

    @property
    def whole(self) -> PartFigures:
        """The figures of all test queries."""
        return self.parts[0]


def budget_size(queries: int, percent: float) -> int:
    """Return a budget in per cent as a number of queries: the nearest, at least 1."""
    return max(1, round(queries * percent / 100))


class StudiedMethod(Record):
    """The study of one method on one data set.

    Attributes:
        name: Of the data set.
        method: Of the encoder.
        overlap: Queries and pairs that training and test pairs have in common.
        left_out: Reason → number of items of both files that are no pair.
        figures: All figures.
        nearest: The texts of each of ``figures.nearest``: test query, training query.
    """

    name: str
    method: str
    overlap: Overlap
    left_out: dict[str, int]
    figures: StudyFigures
    nearest: tuple[tuple[str, str], ...]
