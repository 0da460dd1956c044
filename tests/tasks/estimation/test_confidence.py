"""Laws of the confidence of a model in its best code."""

import numpy as np
import pytest

from tasks.estimation.unlabelled import confidence_of
from tests.fakes.estimations import estimated, pairs


def test_it_is_the_best_codes_share_of_the_softmax() -> None:
    codes = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    half = 0.5**0.5
    shares = np.exp(np.array([1, 0, half]) / 0.05)
    found = confidence_of(np.array([[2, 0], [1, 1]], np.float32), codes)
    assert found[0] == pytest.approx(shares[0] / shares.sum())
    shares = np.exp(np.array([half, half, 1]) / 0.05)
    assert found[1] == pytest.approx(shares[2] / shares.sum())


def test_of_products_it_is_the_share_in_the_softmax_that_they_are_trained_by() -> None:
    codes = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    found = confidence_of(np.array([[2, 1]], np.float32), codes, "product")
    shares = np.exp(np.array([2, 1, 3]))
    assert found[0] == pytest.approx(shares[2] / shares.sum())


def test_of_one_code_it_is_sure_and_of_ten_equal_ones_not() -> None:
    query, codes = np.ones((1, 3), np.float32), np.ones((25, 3), np.float32)
    assert confidence_of(query, codes[:1])[0] == 1
    assert confidence_of(query, codes)[0] == pytest.approx(0.1)


def test_it_makes_intervals_narrower_than_kape_alone() -> None:
    test = pairs(200, 2)
    sure, unsure = estimated(labels=60), estimated(labels=60, confident=False)
    widths = [
        score.combined.high - score.combined.low
        for score in (sure.scores["MRR"], unsure.scores["MRR"])
        if score.combined
    ]
    assert widths[0] < 0.95 * widths[1]
    assert set(sure.scores["MRR"].weights) == {"KAPE", "confidence"}
    assert set(unsure.scores["MRR"].weights) == {"KAPE"}
    assert sure.judged is not None
    assert sure.judged.mean_confidence == pytest.approx(
        confidence_of(test.queries, test.codes).mean()
    )
