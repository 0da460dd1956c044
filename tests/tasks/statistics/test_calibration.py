"""Laws of calibration: confidence that holds its word, and figures known by hand.

Covers `tasks.statistics.calibration`.
"""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from tasks.statistics.calibration import EDGES, Rated, calibration_of


def test_without_labels_there_is_no_calibration() -> None:
    assert calibration_of([]) is None
    assert calibration_of([Rated(0.9, is_right=True, labels=0)]) is None


def test_figures_are_those_computed_by_hand() -> None:
    found = calibration_of([Rated(0.85, is_right=True, labels=3), Rated(0.85, is_right=False)])
    assert found is not None
    [only] = found.bins
    assert (only.low, only.high, only.labels) == (0.8, 0.9, 4)
    assert [only.confidence, only.right] == pytest.approx([0.85, 0.75])
    assert found.expected_error == pytest.approx(0.1)
    assert found.brier == pytest.approx((3 * 0.15**2 + 0.85**2) / 4)


@pytest.mark.parametrize(
    ("confidence", "low"), [(0.0, 0.0), (0.5, 0.5), (0.95, 0.95), (0.9999, 0.99), (1.0, 0.99)]
)
def test_a_bin_begins_with_its_lower_edge_and_the_last_has_certainty(
    confidence: float, low: float
) -> None:
    found = calibration_of([Rated(confidence, is_right=True)])
    assert found is not None
    assert [item.low for item in found.bins] == [low]


def test_confidence_that_holds_its_word_has_no_error_and_brier_is_that_of_a_library() -> None:
    random = np.random.default_rng(0)
    stated = random.uniform(0.3, 1, 50_000)
    is_right = random.random(50_000) < stated
    rated = [Rated(*item) for item in zip(stated.tolist(), is_right.tolist(), strict=True)]
    found = calibration_of(rated)
    assert found is not None
    assert found.expected_error < 0.01
    assert found.brier == pytest.approx(brier_score_loss(is_right, stated))
    assert sum(item.labels for item in found.bins) == found.labels == 50_000
    assert all(item.low in EDGES for item in found.bins)
