"""Whether a metric is fair to queries with many matches: the first CoSQA+ paper's question 4."""

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
        alpha: Cronbach's, with methods as subjects and groups as items; NaN where undefined.
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
        values: What the methods got.
        matches: Query → how many relevant codes it has.
        metrics: Which to look at.
    """
    if len(values) < 2 or not set(MATCHES) <= set(matches.values()):
        return ()
    found = []
    for metric in metrics:
        rows = [by_matches(of_method[metric], matches, MATCHES) for of_method in values.values()]
        table = np.array(rows)
        alpha, variance = cronbach_alpha(table), average_variance(table)
        found.append(Consistency(metric=metric, alpha=alpha, variance=variance))
    return tuple(found)
