"""Laws of the estimate of a method's scores without labels, and of its pairs and queries."""

from pathlib import Path

import numpy as np
import pytest

from infra.errors import EstimationError, UnknownNameError
from infra.settings import EstimationSettings
from tasks.estimators import MEASURES, EstimationData
from tasks.estimators.kape import KAPE
from tasks.reports.estimation import MethodEstimate
from tasks.stages.estimate import EstimationInput, estimate_scores
from tests.fakes.estimations import estimated, pairs
from tests.flows.estimation import pairs_file, write_lines


def test_queries_that_are_training_queries_are_told(tmp_path: Path) -> None:
    training = [("Add  a B", "a + b"), ("sort a list", "sorted(x)"), ("add a b", "sum(a, b)")]
    asked = write_lines(tmp_path / "asked.jsonl", [{"query": "add a b"}, {"query": "read a file"}])
    found = EstimationInput(pairs_file(tmp_path / "train.jsonl", training), asked)
    pool, common = found.notes
    assert "a search among 2 codes" in pool
    assert common.startswith("Of 2 queries 1 are training queries, too: ")
    assert "estimates are too high" in common


def test_an_estimate_without_labels_is_kape_s_for_each_measure() -> None:
    found = estimated()
    data = EstimationData.of_pairs(pairs(300, 1), pairs(200, 2))
    kape = KAPE(5).estimate(data, budget=1, seed=0)
    assert found.scores == {name: pytest.approx(kape.mean(name)) for name in MEASURES}
    assert MethodEstimate.model_validate_json(found.model_dump_json()) == found


def test_one_training_pair_is_enough_for_an_estimate() -> None:
    found = estimate_scores("m", pairs(1, 1), pairs(200, 2).queries, EstimationSettings())
    assert found.scores["MRR"] == pytest.approx(1 / 200)  # one pair 200 times: all tie


def test_what_cannot_be_estimated_is_refused() -> None:
    queries, usual = pairs(200, 2).queries, EstimationSettings()
    for training, asked, settings, error, message in (
        (pairs(0, 1), queries, usual, EstimationError, "no training pairs"),
        (pairs(300, 1), queries[:0], usual, EstimationError, "no queries"),
        (pairs(300, 1), queries * np.float32(np.nan), usual, EstimationError, "test queries"),
        (pairs(3, 1), queries, EstimationSettings(metrics=("MAP",)), UnknownNameError, "MAP"),
    ):
        with pytest.raises(error, match=message):
            estimate_scores("m", training, asked, settings)
