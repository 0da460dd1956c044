"""The computation of the KAPE study's figures from the vectors of training and test pairs.

Source: KAPE, section 5; budgets, seeds and halves are the paper's.
"""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from infra.errors import EstimationError
from tasks.estimation.study_figures import (
    BUDGETS,
    SIMILARITY_STEPS,
    ByMeasure,
    NearestPair,
    Part,
    PartFigures,
    RivalFigures,
    StudyFigures,
    budget_size,
)
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
    Weighting,
    kept_neighbours,
    neighbours_used,
)
from tasks.statistics import Values

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
