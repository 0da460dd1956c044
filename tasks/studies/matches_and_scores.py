"""Tables 6 to 8 of the first version: scores by the number of matches, and their consistency."""

from collections.abc import Mapping, Sequence
from math import isnan

import numpy as np

from infra.errors import StudyError
from tasks.statistics.agreement import average_variance, cronbach_alpha
from tasks.studies import Evidence, Figure, Mean, have, studies

GROUPS = (2, 3, 4, 5)
METRICS = ("MRR", "MAP", "MMRR")


@studies.register("matches-and-scores")
def matches_and_scores(evidence: Evidence) -> Sequence[Figure]:
    """Return the methods' means in each group, and each metric's alpha and variances."""
    scores = have(evidence.group_scores)
    figures = [
        Figure(row=method, column=f"{metric}, {group} matches", value=mean.value, n=mean.n)
        for method, by_metric in scores.items()
        for metric in METRICS
        for group, mean in by_metric.get(metric, {}).items()
        if group in GROUPS
    ]
    if not figures:
        raise StudyError("no scored query of the benchmark has 2, 3, 4 or 5 matches")
    return [*figures, *(each for metric in METRICS for each in _consistency(metric, scores))]


def _consistency(
    metric: str, scores: Mapping[str, Mapping[str, Mapping[int, Mean]]]
) -> list[Figure]:
    """Return alpha and variances over the methods that have all four groups, at least two."""
    groups = [by_metric.get(metric, {}) for by_metric in scores.values()]
    table = np.array(
        [[row[group].value for group in GROUPS] for row in groups if set(GROUPS) <= set(row)]
    )
    if len(table) < 2:
        return []
    alpha = cronbach_alpha(table.T)
    variances = {"sample": average_variance(table), "population": average_variance(table, ddof=0)}
    return [
        Figure(
            row="Cronbach's alpha",
            column=metric,
            value=None if isnan(alpha) else alpha,
            n=len(table),
            note="without variation alpha is not defined" if isnan(alpha) else "",
        ),
        *(
            Figure(row=f"variance, {name}", column=metric, value=value, n=len(table))
            for name, value in variances.items()
        ),
    ]
