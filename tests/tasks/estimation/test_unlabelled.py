"""Laws of the estimate of a method's scores, and of its record.

Covers `tasks.estimation.unlabelled`, `tasks.estimation.records`.
"""

import numpy as np
import pytest

from infra.errors import EstimationError, UnknownNameError
from infra.settings import EstimationSettings
from tasks.estimation.records import MethodEstimate
from tasks.estimation.unlabelled import Judged, estimate_scores
from tasks.estimators import MEASURES, EstimationData, PairVectors, measure_named, ranks_among
from tasks.estimators.kape import KAPE
from tasks.statistics.control_variate import controlled_mean
from tests.fakes.estimations import estimated, judged, pairs, rows_of_all

TRAINING, TEST = pairs(300, 1), pairs(200, 2)


def test_it_is_kape_for_each_measure() -> None:
    found = estimated(labels=0)
    data = EstimationData.of_pairs(TRAINING, TEST)
    kape = KAPE(5).estimate(data, budget=1, seed=0)
    assert {name: score.kape for name, score in found.scores.items()} == {
        name: pytest.approx(kape.mean(name)) for name in MEASURES
    }
    assert all(score.sample is None and score.combined is None for score in found.scores.values())
    assert found.judged is None


def test_judged_queries_give_intervals_with_kape_as_control_variate() -> None:
    found, sample = estimated(labels=50, confident=False), judged(TEST, 50)
    data = EstimationData.of_pairs(TRAINING, TEST)
    by_query = KAPE(5).estimate(data, budget=1, seed=0).by_row("MRR")
    direct = controlled_mean(
        sample.values["MRR"], by_query[np.asarray(sample.rows)], float(by_query.mean()), 200
    )
    assert found.scores["MRR"].combined == direct.interval
    assert found.scores["MRR"].weights == {"KAPE": direct.weights[0]}
    assert direct.weights[0] != 0
    ranks = ranks_among(TEST, rows_of_all(TEST))
    truth = measure_named("MRR")(ranks).mean()
    assert direct.interval.low <= truth <= direct.interval.high


def test_all_judged_give_the_truth() -> None:
    found = estimated(labels=200)
    truth = measure_named("NDCG@10")(ranks_among(TEST, rows_of_all(TEST))).mean()
    combined = found.scores["NDCG@10"].combined
    assert combined is not None
    assert combined.low == combined.mean == combined.high == pytest.approx(truth)


@pytest.mark.parametrize("labels", [0, 40])
def test_its_json_is_small_and_gives_it_again(labels: int) -> None:
    found = estimated(labels=labels)
    text = found.model_dump_json()
    assert MethodEstimate.model_validate_json(text) == found
    assert len(text) < 16_000


def test_few_labels_and_few_training_pairs_are_said() -> None:
    assert estimated(labels=0).notes == ()
    assert "12 queries are judged: below 30" in estimated(labels=12).notes[0]
    few = estimate_scores("m", pairs(3, 1), TEST.queries)
    assert few.notes == ("There are 3 training pairs, fewer than k = 5: all count.",)


def test_one_training_pair_is_enough_for_an_estimate() -> None:
    found = estimate_scores("m", pairs(1, 1), TEST.queries)
    assert found.scores["MRR"].kape == pytest.approx(1 / 200)  # one pair 200 times: all tie


def test_a_measure_without_true_values_has_its_estimate_alone() -> None:
    sample = judged(TEST, 40)
    partly = Judged(sample.rows, {"MRR": sample.values["MRR"]})
    found = estimate_scores("m", TRAINING, TEST.queries, partly)
    assert found.scores["MRR"].sample is not None
    assert found.scores["Recall@10"].sample is None
    assert found.judged is not None
    assert set(found.judged.true) == {"MRR"}


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (Judged([3, 3], {"MRR": np.ones(2)}), "a judged query is given twice"),
        (Judged([200], {"MRR": np.ones(1)}), "a judged query is none of the 200 queries"),
        (Judged([-1], {"MRR": np.ones(1)}), "a judged query is none of the 200 queries"),
        (Judged([1, 2], {"MRR": np.ones(3)}), "2 judged queries and 3 values of MRR"),
        (Judged([1, 2], {"MRR": np.array([0.5, 1.5])}), "value 2 is 1.5"),
        (Judged([1], {"MRR": np.ones(1)}, np.ones(7)), "200 queries and the confidence of 7"),
    ],
)
def test_judged_queries_that_are_no_sample_are_refused(sample: Judged, message: str) -> None:
    with pytest.raises(EstimationError, match=message):
        estimate_scores("m", TRAINING, TEST.queries, sample)


def test_what_cannot_be_estimated_is_refused() -> None:
    nothing = PairVectors(np.empty((0, 12), np.float32), np.empty((0, 12), np.float32))
    with pytest.raises(EstimationError, match="no training pairs"):
        estimate_scores("m", nothing, TEST.queries)
    with pytest.raises(EstimationError, match="no queries"):
        estimate_scores("m", TRAINING, TEST.queries[:0])
    with pytest.raises(EstimationError):
        estimate_scores("m", TRAINING, np.full((2, 12), np.nan, np.float32))
    with pytest.raises(UnknownNameError, match="MAP"):
        estimate_scores("m", TRAINING, TEST.queries, None, EstimationSettings(metrics=("MAP",)))


def test_what_is_done_is_said() -> None:
    said: list[str] = []
    estimate_scores("m", TRAINING, TEST.queries, say=said.append)
    assert said[0] == "finding the nearest of 300 training queries for 200"
