"""Several methods on the same queries, of which few or none are labelled."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from infra.errors import EstimationError
from tasks.estimation.records import Difference, MethodComparison, MethodEstimate
from tasks.statistics import Values
from tasks.statistics.control_variate import controlled_mean
from tasks.statistics.sampling import DIFFERENCES, sample_mean


def compare_methods(estimates: Sequence[MethodEstimate]) -> MethodComparison:
    """Return the order of methods on the same queries, and the difference of each two.

    Methods share their hard queries, so the interval of a difference is taken from the differences
    of the judged queries, with the differences of KAPE's estimates and of the confidences as
    control variates. It is far narrower than the two methods' own intervals would make it.

    Args:
        estimates: Of two methods or more, over the same queries and with the same options.

    Raises:
        EstimationError: There are fewer than two, or they are of other queries or measures.
    """
    if len(estimates) < 2:
        raise EstimationError(f"{len(estimates)} method: a comparison needs two or more")
    shapes = {(each.queries, tuple(each.scores), each.level) for each in estimates}
    if len(shapes) > 1:
        raise EstimationError("the methods are estimated over other queries, measures or levels")
    measure = next(iter(estimates[0].scores))
    best = {each.method: _best(each, measure) for each in estimates}
    ranked = sorted(estimates, key=lambda each: (-best[each.method], each.method))
    pairs = list(combinations(ranked, 2))
    level = 1 - (1 - estimates[0].level) / len(pairs)
    return MethodComparison(
        measure=measure,
        level=level,
        order=tuple((each.method, best[each.method]) for each in ranked),
        differences=tuple(_difference(one, other, measure, level) for one, other in pairs),
    )


def _best(estimate: MethodEstimate, measure: str) -> float:
    score = estimate.scores[measure]
    return score.combined.mean if score.combined else score.kape


def _difference(
    one: MethodEstimate, other: MethodEstimate, measure: str, level: float
) -> Difference:
    alone = Difference(
        first=one.method,
        second=other.method,
        kape=one.scores[measure].kape - other.scores[measure].kape,
    )
    judged = [each.judged for each in (one, other) if each.judged and measure in each.judged.true]
    if len(judged) < 2 or judged[0].rows != judged[1].rows:
        return alone
    one_judged, other_judged = judged
    true = _less(one_judged.true[measure], other_judged.true[measure])
    columns = [_less(one_judged.estimated[measure], other_judged.estimated[measure])]
    means = [one_judged.population[measure] - other_judged.population[measure]]
    if one_judged.confidence and other_judged.confidence:
        columns.append(_less(one_judged.confidence, other_judged.confidence))
        means.append(one_judged.mean_confidence - other_judged.mean_confidence)
    combined = controlled_mean(
        true, np.column_stack(columns), np.array(means), one.queries, level, DIFFERENCES
    )
    return alone.model_copy(
        update={
            "sample": sample_mean(true, one.queries, level=level, scale=DIFFERENCES),
            "combined": combined.interval,
        }
    )


def _less(first: Sequence[float], second: Sequence[float]) -> Values:
    values: Values = np.array(first, np.float64) - np.array(second, np.float64)
    return values
