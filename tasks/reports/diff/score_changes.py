"""Changes of methods' scores, and of their order, between two versions of a benchmark."""

from collections.abc import Mapping

import numpy as np

from infra.records import Record
from tasks.reports.leaderboard import Leaderboard, MethodRow
from tasks.statistics.comparisons import randomisation_test
from tasks.statistics.rank_correlation import kendall_tau

# Method → metric → query → value.
Scores = Mapping[str, Mapping[str, Mapping[str, float]]]


class ScoreChange(Record):
    """A method's mean in a metric in both versions.

    Attributes:
        queries: How many queries both versions score.
        shared: Change of the mean over the queries that both versions score.
        p_value: Of that change, by a paired randomisation test.
    """

    method: str
    metric: str
    before: float
    after: float
    queries: int
    shared: float
    p_value: float


class ScoreChanges(Record):
    """The changes of all methods in all metrics; none where no query is scored in both versions.

    Attributes:
        order: Kendall's tau between the orders of the methods by the first metric; None for fewer
            than two methods, or where all have one score.
    """

    methods: tuple[ScoreChange, ...]
    order: float | None


def score_changes(
    before: Leaderboard, after: Leaderboard, old: Scores, new: Scores
) -> ScoreChanges:
    """Return how the scores of methods differ between two leaderboards.

    Args:
        before: The first version's.
        after: The second version's, of the same methods and metrics.
        old: Every query's value in the first version.
        new: And in the second.
    """
    row_after = {row.method: row for row in after.rows}
    changes = [
        _method_change(
            metric, row, row_after[row.method], old[row.method][metric], new[row.method][metric]
        )
        for row in before.rows
        for metric in before.metrics
    ]
    changes = [change for change in changes if change.queries]
    first = [change for change in changes if change.metric == before.metrics[0]]
    order = kendall_tau([row.before for row in first], [row.after for row in first])
    return ScoreChanges(methods=tuple(changes), order=order)


def _method_change(
    metric: str,
    before: MethodRow,
    after: MethodRow,
    old: Mapping[str, float],
    new: Mapping[str, float],
) -> ScoreChange:
    shared = sorted(old.keys() & new.keys())
    differences = np.array([new[query] - old[query] for query in shared], np.float64)
    return ScoreChange(
        method=before.method,
        metric=metric,
        before=before.cells[metric].mean,
        after=after.cells[metric].mean,
        queries=len(shared),
        shared=float(differences.mean()) if shared else 0.0,
        p_value=float(randomisation_test(differences[None, :])[0]) if shared else 1.0,
    )
