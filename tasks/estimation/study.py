"""Figures of the KAPE study of one model on one data set, from the vectors of its pairs.

Source: KAPE, section 5 (research questions 1 to 4); budgets, seeds and halves are the paper's.
"""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from infra.errors import EstimationError
from infra.records import Record
from tasks.estimators import (
    MEASURES,
    EstimationData,
    Estimator,
    PairVectors,
    Ranks,
    estimators,
    measure_named,
    ranks_among,
)
from tasks.estimators.kape import (
    KAPE,
    MOST_NEIGHBOURS,
    WEIGHTINGS,
    Kept,
    NeighboursUsed,
    Weighting,
    kept_neighbours,
    neighbours_used,
)
from tasks.inputs.pairs import Overlap
from tasks.statistics import Values

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


SEEDS = (0, 1, 2)
_KS = range(3, MOST_NEIGHBOURS + 1)  # of Table 6
Rows = npt.NDArray[np.int64]
Done = Callable[[int], object]


def study_figures(
    training: PairVectors,
    test: PairVectors,
    done: Done = lambda _: None,
    validation: PairVectors | None = None,
) -> StudyFigures:
    """Return all figures of a model.

    Ranks of a sample are computed once for each estimator, budget and seed, neighbours and
    probabilities once for the whole test set.

    Args:
        training: Vectors of the pairs that the model was trained on.
        test: Vectors of the test pairs, whose codes are known.
        done: Called with 1 after each of `study_steps` steps.
        validation: Vectors of the pairs by which the model was chosen, if they are known.

    Raises:
        EstimationError: There are no training or no test pairs, or the vectors do not fit.
    """
    if not len(test):
        raise EstimationError("there are no test pairs: the study compares estimates with them")
    data = EstimationData.of_pairs(training, test)
    neighbours = data.nearest(MOST_NEIGHBOURS)
    nearest = neighbours.similarities
    ranks = data.label(np.arange(len(test)))
    done(1)
    parts = [_part("all", data, ranks, done)]
    for part, rows in _halves(nearest[:, 0]):
        half = data.part(rows)
        parts.append(_part(part, half, half.label(np.arange(len(rows))), done))
    of_nearest = data.neighbour_ranks(1)[:, 0]
    return StudyFigures(
        training=len(training),
        validation=len(validation) if validation else 0,
        validation_truth=_means(ranks_among(validation)) if validation else {},
        queries=len(test),
        parts=tuple(parts),
        neighbours=tuple(neighbours_used(nearest, _KS)),
        used=_used(kept_neighbours(nearest)),
        nearest=tuple(
            NearestPair(
                row=row,
                nearest_row=int(neighbours.rows[row, 0]),
                rank=int(ranks[row]),
                nearest_rank=int(of_nearest[row]),
                similarity=nearest[row, 0],
            )
            for row in range(0, len(test), -(-len(test) // 10))
        ),
        equal_ranks=float((of_nearest == ranks).mean()),
    )


def _means(ranks: Ranks) -> dict[str, float]:
    """Return measure → mean."""
    return {name: float(measure_named(name)(ranks).mean()) for name in MEASURES}


def study_steps(queries: int) -> int:
    """Return the number of steps by which a study of these test queries reports its progress."""
    parts = 3 if queries > 1 else 1
    rivals = sum(
        (len(BUDGETS) if each.uses_labels else 1) * (1 if each.is_stable else len(SEEDS))
        for each in map(estimators.get, rival_names())
    )
    return 1 + parts * (rivals + 1)


def rival_names() -> list[str]:
    """Return the names of all registered estimators but KAPE."""
    return [name for name in estimators if name != "kape"]


def _halves(similarity: Values) -> Iterator[tuple[Part, Rows]]:
    """Yield the rows of the halves at the median of the similarity; none of a single query.

    Queries that are equally similar, as copies of training queries are, are halved in the order of
    their rows, so that neither half is empty; the middle one of an odd number is in the lower half.
    """
    half = len(similarity) // 2
    if half:
        falling = np.argsort(-similarity, kind="stable")
        yield "similar", np.sort(falling[:half])
        yield "different", np.sort(falling[half:])


def _part(part: Part, data: EstimationData, ranks: Ranks, done: Done) -> PartFigures:
    kape = {weighting: _kape(data, weighting) for weighting in WEIGHTINGS}
    done(1)
    similarity = np.clip(data.nearest(1).similarities[:, 0], 0.0, 1.0)
    return PartFigures(
        part=part,
        queries=len(ranks),
        truth=_means(ranks),
        kape=kape,
        rivals=tuple(_rival(name, data, done) for name in rival_names()),
        similarities=tuple(np.histogram(similarity, SIMILARITY_STEPS, (0.0, 1.0))[0].tolist()),
    )


def _kape(data: EstimationData, weighting: Weighting) -> ByMeasure:
    """Return measure → estimates for k = 1, 2, ... 10."""
    by_k = [KAPE(k, weighting) for k in range(1, MOST_NEIGHBOURS + 1)]
    estimates = [each.estimate(data, budget=1, seed=0) for each in by_k]
    return {name: tuple(each.mean(name) for each in estimates) for name in MEASURES}


def _rival(name: str, data: EstimationData, done: Done) -> RivalFigures:
    """Return a rival's estimates at all budgets over all seeds."""
    estimator: Estimator = estimators.get(name)()
    total = len(data.queries)
    sizes = [budget_size(total, each) for each in BUDGETS] if estimator.uses_labels else [total]
    seeds = SEEDS[:1] if estimator.is_stable else SEEDS
    found = np.empty((len(MEASURES), len(sizes), len(seeds)))
    for row, size in enumerate(sizes):
        for column, seed in enumerate(seeds):
            estimate = estimator.estimate(data, budget=size, seed=seed)
            found[:, row, column] = [estimate.mean(measure) for measure in MEASURES]
            done(1)
    return RivalFigures(
        estimator=name,
        uses_labels=estimator.uses_labels,
        is_stable=estimator.is_stable,
        means=_by_measure(found.mean(axis=2)),
        deviations=_by_measure(found.std(axis=2)),
    )


def _used(kept: Kept) -> dict[int, int]:
    """Return neighbours used at k = 10 → number of queries, most first."""
    counts = np.bincount(kept.sum(axis=1))
    return {number: int(counts[number]) for number in np.flatnonzero(counts)[::-1].tolist()}


def _by_measure(table: npt.NDArray[np.float64]) -> ByMeasure:
    return {name: tuple(row.tolist()) for name, row in zip(MEASURES, table, strict=True)}
