"""What a change of a benchmark does to the scores of methods and to their order."""

from collections.abc import Mapping

import numpy as np
from scipy.stats import kendalltau

from infra.records import Record
from tasks.reports.leaderboard import Leaderboard, Standing
from tasks.statistics.comparisons import randomisation_test

# Method → metric → query → value.
Scores = Mapping[str, Mapping[str, Mapping[str, float]]]


class MethodEffect(Record):
    """A method's mean in a metric in both versions.

    Attributes:
        queries: How many both versions score.
        shared: How much the mean over the queries that both versions score has changed.
        p_value: Of that change, by a paired randomisation test.
    """

    method: str
    metric: str
    before: float
    after: float
    queries: int
    shared: float
    p_value: float


class Effect(Record):
    """The effect on a leaderboard.

    Attributes:
        order: Kendall's tau between the orders of the methods by the first metric; None for fewer
            than two methods, or where all have one score.
    """

    methods: tuple[MethodEffect, ...]
    order: float | None


def effect(before: Leaderboard, after: Leaderboard, old: Scores, new: Scores) -> Effect:
    """Return how the methods of two leaderboards fare.

    Args:
        before: The first version's.
        after: The second version's, of the same methods and metrics.
        old: Every query's value in the first version.
        new: And in the second.
    """
    later = {each.method: each for each in after.standings}
    methods = [
        _fares(metric, each, later[each.method], old[each.method][metric], new[each.method][metric])
        for each in before.standings
        for metric in before.metrics
    ]
    first = [each for each in methods if each.metric == before.metrics[0]]
    return Effect(methods=tuple(methods), order=_agreement(first))


def _fares(
    metric: str,
    before: Standing,
    after: Standing,
    old: Mapping[str, float],
    new: Mapping[str, float],
) -> MethodEffect:
    shared = sorted(old.keys() & new.keys())
    differences = np.array([new[query] - old[query] for query in shared], np.float64)
    return MethodEffect(
        method=before.method,
        metric=metric,
        before=before.cells[metric].mean,
        after=after.cells[metric].mean,
        queries=len(shared),
        shared=float(differences.mean()) if shared else 0.0,
        p_value=float(randomisation_test(differences[None, :])[0]) if shared else 1.0,
    )


def _agreement(effects: list[MethodEffect]) -> float | None:
    if len(effects) < 2:
        return None
    tau = kendalltau([each.before for each in effects], [each.after for each in effects]).statistic
    return None if np.isnan(tau) else float(tau)
