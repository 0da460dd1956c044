"""Calibration: whether labels that are given with a confidence are right as often as that."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from infra.records import Record

# Most labels have a high confidence, where small differences tell: bins get narrower there.
EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)


class Rated(NamedTuple):
    """Labels with the same confidence, and whether they are right.

    Attributes:
        confidence: The probability that each is right, as it was stated.
        is_right: Whether they are.
        labels: Their number.
    """

    confidence: float
    is_right: bool
    labels: int = 1


class CalibrationBin(Record):
    """Labels with a confidence from ``low`` to below ``high``; the last bin has 1 too.

    Attributes:
        labels: Their number.
        confidence: Their mean confidence.
        right: The share of them that is right.
    """

    low: float
    high: float
    labels: int
    confidence: float
    right: float


class Calibration(Record):
    """How confidence and truth go together.

    Attributes:
        labels: Number of labels whose truth is known.
        right: The share of them that is right.
        confidence: Their mean confidence.
        brier: Mean square of confidence minus 1 for a right label, minus 0 for a wrong one: 0 is
            best (Brier 1950).
        expected_error: Mean distance of confidence and share of right labels over the bins,
            weighted by their labels (expected calibration error, Naeini et al. 2015).
        bins: The bins that have a label, in rising order.
    """

    labels: int
    right: float
    confidence: float
    brier: float
    expected_error: float
    bins: tuple[CalibrationBin, ...]


def calibration_of(rated: Sequence[Rated]) -> Calibration | None:
    """Return how well confidence tells right labels from wrong ones, None without a label."""
    rated = [item for item in rated if item.labels]
    if not rated:
        return None
    confidence, right, labels = np.array(rated, np.float64).T
    place = np.minimum(np.searchsorted(EDGES, confidence, side="right"), len(EDGES) - 1) - 1
    bins = tuple(
        CalibrationBin(
            low=low,
            high=high,
            labels=int(labels[within].sum()),
            confidence=float(np.average(confidence[within], weights=labels[within])),
            right=float(np.average(right[within], weights=labels[within])),
        )
        for number, (low, high) in enumerate(pairwise(EDGES))
        if (within := place == number).any()
    )
    apart = sum(item.labels * abs(item.confidence - item.right) for item in bins)
    return Calibration(
        labels=int(labels.sum()),
        right=float(np.average(right, weights=labels)),
        confidence=float(np.average(confidence, weights=labels)),
        brier=float(np.average((confidence - right) ** 2, weights=labels)),
        expected_error=float(apart / labels.sum()),
        bins=bins,
    )
