"""Consistency of metrics over queries with two to five matches.

Source: research question 4 of the first CoSQA+ paper (arXiv 2406.11589v1), which asks whether a
metric is fair to queries with many matches.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from infra.records import Record
from tasks.statistics.agreement import average_variance, by_matches, cronbach_alpha

MATCHES = (2, 3, 4, 5)

# Method → metric → query → value.
Values = Mapping[str, Mapping[str, Mapping[str, float]]]


class Consistency(Record):
    """A metric over groups of queries with 2, 3, 4 and 5 matches.

    Attributes:
        alpha: Cronbach's, with the groups of queries as subjects and the methods as items, which
            gives the paper's .956 on its table of MMRR; NaN where undefined.
        variance: Sample variance of a method's means over the groups, averaged over the methods;
            see `average_variance`, which says what of this is our reading of the paper.
    """

    metric: str
    alpha: float
    variance: float


def consistency(
    values: Values, matches: Mapping[str, int], metrics: Sequence[str]
) -> tuple[Consistency, ...]:
    """Return each metric's consistency; nothing for fewer than two methods or an empty group.

    Args:
        values: The methods' scores.
        matches: Query → how many relevant codes it has.
        metrics: The metrics.
    """
    if len(values) < 2 or not set(MATCHES) <= set(matches.values()):
        return ()
    return tuple(_consistency(metric, values, matches) for metric in metrics)


def _consistency(metric: str, values: Values, matches: Mapping[str, int]) -> Consistency:
    by_method = np.array(
        [by_matches(metrics[metric], matches, MATCHES) for metrics in values.values()]
    )
    return Consistency(
        metric=metric,
        alpha=cronbach_alpha(by_method.T),
        variance=average_variance(by_method),
    )
