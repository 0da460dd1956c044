"""Laws of the pilot sample and of the plan that follows from it."""

import numpy as np
import pytest

from infra.settings import EstimationSettings
from tasks.estimation import pilot as module
from tasks.estimation.confidence import confidence_of
from tasks.estimation.pilot import USUAL_HALF_WIDTHS, Pilot, pilot_of, pilot_values, plan_of
from tasks.estimation.records import FEWEST_JUDGED
from tasks.estimators import Floats, PairVectors
from tasks.estimators.kape import neighbour_weights
from tasks.statistics import Values
from tasks.statistics.control_variate import controlled_mean
from tasks.statistics.sampling import sample_mean
from tests.fakes.estimations import pairs


def cosine(left: Floats, right: Floats) -> float:
    return float(left @ right / (np.linalg.norm(left) * np.linalg.norm(right)))


def pilot(training: PairVectors, k: int, seed: int) -> Pilot:
    found = pilot_of(training, k, seed)
    assert found is not None
    return found


def test_the_neighbours_are_the_nearest_other_queries() -> None:
    training = pairs(30, seed=4)
    found = pilot(training, 3, seed=0)
    assert found.rows.tolist() == list(range(30))
    for row in range(30):
        others = [other for other in range(30) if other != row]
        near = sorted(
            others, key=lambda other: -cosine(training.queries[row], training.queries[other])
        )
        assert found.neighbours[row].tolist() == near[:3]


def test_a_query_with_several_codes_is_no_other_one_to_itself() -> None:
    """It counts once, by its first pair, in the sample as among the neighbours."""
    once = pairs(30, seed=4)
    rows = np.concatenate([np.arange(30), np.arange(30)[::-1], np.full(40, 7)])
    several = PairVectors(once.queries[rows], pairs(100, seed=5).codes)
    found, expected = pilot(several, 3, seed=0), pilot(once, 3, seed=0)
    assert found.rows.tolist() == expected.rows.tolist()
    assert found.neighbours.tolist() == expected.neighbours.tolist()
    assert found.similarities.tolist() == pytest.approx(expected.similarities)
    first = several.rows(np.arange(30))
    for one, other in zip(
        pilot_values(several, found, "MRR"), pilot_values(first, expected, "MRR"), strict=True
    ):
        assert one == pytest.approx(other)


def test_without_another_query_there_is_no_pilot() -> None:
    codes = pairs(9, 0).codes[:, :4]
    assert pilot_of(PairVectors(np.ones((9, 4), np.float32), codes), 2, seed=0) is None
    assert pilot_of(PairVectors(np.ones((1, 4), np.float32), codes[:1]), 2, seed=0) is None


def test_of_many_queries_of_one_direction_none_is_its_own_neighbour() -> None:
    lengths = np.arange(1, 10, dtype=np.float32)[:, None]
    training = PairVectors(lengths * np.ones((1, 4), np.float32), pairs(9, 0).codes[:, :4])
    found = pilot(training, 2, seed=0)
    assert found.neighbours.shape == (9, 2)
    assert not (found.neighbours == found.rows[:, None]).any()


def test_a_training_set_with_fewer_others_than_k_gives_all_of_them() -> None:
    assert pilot(pairs(2, 0), 5, seed=0).neighbours.tolist() == [[1], [0]]


def test_the_sample_is_limited_and_its_codes_are_ranked_among_the_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST", 20)
    training = pairs(50, seed=5)
    found = pilot(training, 2, seed=1)
    assert len(set(found.rows.tolist())) == 20
    true, covariates = pilot_values(training, found, "MRR")

    def reciprocal_ranks(rows: list[int]) -> list[float]:
        scores = [
            [cosine(training.queries[query], training.codes[code]) for code in rows]
            for query in rows
        ]
        own = np.diag(scores)
        return [
            float(1 / (np.array(line) >= own[place]).sum()) for place, line in enumerate(scores)
        ]

    assert true.tolist() == pytest.approx(reciprocal_ranks(found.rows.tolist()))
    columns = np.array([reciprocal_ranks(column.tolist()) for column in found.neighbours.T]).T
    weights = neighbour_weights(found.similarities, "adaptive-similarity")
    assert covariates[:, 0].tolist() == pytest.approx((columns * weights).sum(axis=1).tolist())
    sample = training.rows(found.rows)
    assert covariates[:, 1].tolist() == confidence_of(sample.queries, sample.codes).tolist()


def values(size: int, seed: int) -> tuple[Values, Values]:
    generator = np.random.default_rng(seed)
    estimated = generator.random(size)
    return np.clip(0.6 * estimated + 0.2 + generator.normal(0, 0.1, size), 0, 1), estimated


def test_the_labels_at_hand_are_what_their_own_interval_needs() -> None:
    true, estimated = values(120, 0)
    alone = sample_mean(true, 2_000)
    combined = controlled_mean(true, estimated, 0.5, 2_000).interval
    plans = [
        plan_of(true, estimated, 2_000, 120, EstimationSettings(half_width=width))
        for width in ((each.high - each.low) / 2 * (1 + 1e-9) for each in (alone, combined))
    ]
    first, second = (plan.rows[0] for plan in plans)
    assert (first.alone, second.combined) == (120, 120)
    assert (first.more_alone, second.more_combined) == (0, 0)
    assert second.more_alone > 0
    assert {(plan.pilot, plan.pilot_size) for plan in plans} == {("judged", 120)}


@pytest.mark.parametrize("judged", [0, 29, 30, 400])
def test_a_plan_stays_between_the_fewest_that_are_reliable_and_all(judged: int) -> None:
    widths = (0.0001, *USUAL_HALF_WIDTHS)
    plan = plan_of(*values(200, 1), 400, judged, EstimationSettings(half_width=widths[0]))
    assert plan.pilot == ("judged" if judged >= FEWEST_JUDGED else "training")
    assert [row.half_width for row in plan.rows] == list(widths)
    for row in plan.rows:
        assert FEWEST_JUDGED <= row.combined <= row.alone <= 400
        assert row.more_combined == max(0, row.combined - judged)
    assert plan.rows[0].combined == 400
    wide = plan_of(*values(200, 1), 400, judged, EstimationSettings(half_width=0.4))
    assert wide.rows[0].alone == FEWEST_JUDGED
    assert plan.residual < plan.deviation


def test_fewer_queries_than_are_reliable_are_all_to_be_labelled() -> None:
    plan = plan_of(*values(50, 2), 12, 0, EstimationSettings())
    assert {row.alone for row in plan.rows} == {12}
