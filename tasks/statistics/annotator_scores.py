"""Scores of an annotator: agreement of two lists of labels, one of them true.

A label is 0 or 1; None is a pair that was left undecided.
"""

import math
from collections.abc import Sequence

import numpy as np

from infra.records import Record
from tasks.statistics.agreement import cohen_kappa, krippendorff_alpha
from tasks.statistics.intervals import wilson_interval

Labels = Sequence[int | None]


class Agreement(Record):
    """Figures of one annotator against the truth; a figure that is not defined is None.

    Attributes:
        pairs: Pairs with a true label that the annotator was given.
        decided: Those that got a label.
        accuracy: Right labels in all pairs; an undecided pair is not right.
        accuracy_low: Lower end of the accuracy's 95% confidence interval (Wilson, 1927).
        accuracy_high: Its upper end.
        precision: Right ones in those labelled 1.
        recall: Those labelled 1 in the decided pairs that are truly 1.
        kappa: Cohen's, over the decided pairs: agreement beyond chance.
        alpha: Krippendorff's for nominal data, over the decided pairs.
    """

    pairs: int
    decided: int
    accuracy: float | None
    accuracy_low: float | None
    accuracy_high: float | None
    precision: float | None
    recall: float | None
    kappa: float | None
    alpha: float | None


def agreement(labels: Labels, truth: Sequence[int]) -> Agreement:
    """Return the figures of labels against the truth, pair by pair in the same order.

    Raises:
        ValueError: The two are of different lengths.
    """
    both = [(ours, true) for ours, true in zip(labels, truth, strict=True) if ours is not None]
    ratings = np.array(both, np.float64).reshape(-1, 2).T
    right = sum(ours == true for ours, true in both)
    true_matches = sum(ours == true == 1 for ours, true in both)
    accuracy = wilson_interval(right, len(truth))
    return Agreement(
        pairs=len(truth),
        decided=len(both),
        accuracy=_share(right, len(truth)),
        accuracy_low=_defined(accuracy.low),
        accuracy_high=_defined(accuracy.high),
        precision=_share(true_matches, sum(ours for ours, _ in both)),
        recall=_share(true_matches, sum(true for _, true in both)),
        kappa=_defined(cohen_kappa(ratings[0], ratings[1], (0, 1))),
        alpha=_defined(krippendorff_alpha(ratings, "nominal")),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
