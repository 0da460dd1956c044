"""Laws of the estimate of a method's scores, and of its record."""

import numpy as np
import pytest

from infra.errors import EstimationError, UnknownNameError
from infra.settings import EstimationSettings
from tasks.estimation.unlabelled import MethodEstimate, estimate_scores
from tasks.estimators import MEASURES, EstimationData, PairVectors
from tasks.estimators.kape import KAPE
from tests.fakes.estimations import estimated, pairs

TRAINING, TEST = pairs(300, 1), pairs(200, 2)
SETTINGS = EstimationSettings()


def test_it_is_kape_for_each_measure() -> None:
    found = estimated()
    data = EstimationData.of_pairs(TRAINING, TEST)
    kape = KAPE(5).estimate(data, budget=1, seed=0)
    assert found.scores == {name: pytest.approx(kape.mean(name)) for name in MEASURES}
    assert MethodEstimate.model_validate_json(found.model_dump_json()) == found


def test_one_training_pair_is_enough_for_an_estimate() -> None:
    found = estimate_scores("m", pairs(1, 1), TEST.queries, SETTINGS)
    assert found.scores["MRR"] == pytest.approx(1 / 200)  # one pair 200 times: all tie


def test_what_cannot_be_estimated_is_refused() -> None:
    nothing = PairVectors(np.empty((0, 12), np.float32), np.empty((0, 12), np.float32))
    with pytest.raises(EstimationError, match="no training pairs"):
        estimate_scores("m", nothing, TEST.queries, SETTINGS)
    with pytest.raises(EstimationError, match="no queries"):
        estimate_scores("m", TRAINING, TEST.queries[:0], SETTINGS)
    with pytest.raises(EstimationError):
        estimate_scores("m", TRAINING, np.full((2, 12), np.nan, np.float32), SETTINGS)
    with pytest.raises(UnknownNameError, match="MAP"):
        estimate_scores("m", TRAINING, TEST.queries, EstimationSettings(metrics=("MAP",)))
