"""Means of values by labels that err, corrected by people's labels of a random sample."""

from tasks.statistics import Values
from tasks.statistics.control_variate import controlled_mean
from tasks.statistics.intervals import Interval
from tasks.statistics.sampling import SCORES, Scale, Spread

_LEVEL = 0.95


def corrected_mean(
    true: Values,
    labelled: Values,
    labelled_mean: float,
    population: int,
    *,
    scale: Scale = SCORES,
    error: float = 1.0,
) -> Interval:
    """Return a mean corrected by PPI++ with the tuned lambda (arXiv 2311.01453, section 6).

    See `controlled_mean`, which is that estimator for the mean of these items alone. A sample in
    which no label errs does not show that none does: one more item is imagined that errs in either
    direction, which changes the interval, not the mean (as Agresti and Coull 1998 do).

    Args:
        true: (n,) values by people's labels, of a simple random sample without replacement.
        labelled: (n,) values of the same items by the labels that may err.
        labelled_mean: Mean of these over all items, the sample's included.
        population: N, the number of items.
        scale: The values that there can be.
        error: How far an item's value is off where its labels err.

    Raises:
        EstimationError: As of `controlled_mean`.
    """
    size = len(true)
    controlled = controlled_mean(true, labelled, labelled_mean, population, _LEVEL, scale)
    if size == 1:
        return controlled.interval
    spread = Spread(float(true.var(ddof=1)) * controlled.left, 2 * error**2)
    half_width = min(
        spread.half_width(size, population, level=_LEVEL, estimated=controlled.estimated),
        Spread.of(true, scale).half_width(size, population, level=_LEVEL),
    )
    return scale.cut(controlled.interval.mean, half_width, _LEVEL)
