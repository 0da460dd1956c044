"""KAPE against cases worked by hand, and laws of its weights."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tasks.estimators import Estimate, EstimationData, PairVectors, Positions, Ranks
from tasks.estimators.kape import (
    KAPE,
    Kept,
    Weighting,
    kept_neighbours,
    neighbour_weights,
    neighbours_used,
)
from tasks.reports.kape_paper import published_tables

# Seven training pairs and three test queries in the plane; their cosines, by hand:
#          q1    q2    q3    q4    q5    q6    q7     the three nearest
# t1      .6    .8    .8    0   -.6    .28  -1       q2 .8, q3 .8, q1 .6      (two equally near)
# t2     1     .96   0     .8    .28   .936 -.6      q1 1, q2 .96, q6 .936    (t2 is q1 itself)
# t3      .8    .6  -.6   1      .8    .96   0       q4 1, q6 .96, q1 .8      (q5 is as near as q1)
QUERIES = [(0.6, 0.8), (0.8, 0.6), (0.8, -0.6), (0, 1), (-0.6, 0.8), (0.28, 0.96), (-1, 0)]
CODES = [(0, 1), (1, 0), (0.6, 0.8), (0, 1), (1, 0), (0.6, 0.8), (-1, 0)]
TEST = [(1, 0), (0.6, 0.8), (0, 1)]
# Subsets by the first, second and third neighbours; a tie counts against a pair:
# (q2 c2, q1 c1, q4 c4): ranks 1, 2 (c4 is c1), 2      (q3 c3, q2 c2, q6 c6): ranks 3, 3, 2
# (q1 c1, q6 c6, q1 c1): ranks 3 (c6 above, the other c1 a tie), 3, 3
RANKS = [[1, 3, 3], [2, 3, 3], [2, 2, 3]]


def unlabelled(_rows: Positions) -> Ranks:
    raise AssertionError("KAPE needs no label of a test query")


@pytest.fixture
def data() -> EstimationData:
    training = PairVectors(np.array(QUERIES, float), np.array(CODES, float))
    return EstimationData(training, np.array(TEST, float), unlabelled)


def estimated(data: EstimationData, k: int, weighting: Weighting = "adaptive-similarity") -> float:
    return KAPE(k, weighting).estimate(data, budget=1, seed=0).mean("MRR")


def test_the_subsets_of_the_neighbours_are_ranked_as_by_hand(data: EstimationData) -> None:
    assert data.nearest(3).rows.tolist() == [[1, 2, 0], [0, 1, 5], [3, 5, 0]]
    assert data.neighbour_ranks(3).tolist() == RANKS


@pytest.mark.parametrize(
    ("k", "by_hand"),
    [
        (1, (1 + 1 / 2 + 1 / 2) / 3),
        # Of two neighbours both are kept: their z-scores are 0 and 0, or 1 and -1.
        (2, ((1 + 1 / 3) / 2 + (1 / 2 + 0.96 / 3) / 1.96 + 1 / 2) / 3),
        # t1: z = .71, .71, -1.41. t2: z = 1.31, -.20, -1.11. t3: z = .93, .46, -1.39.
        # So the third of each is left out.
        (3, ((1 + 1 / 3) / 2 + (1 / 2 + 0.96 / 3) / 1.96 + 1 / 2) / 3),
    ],
)
def test_an_estimate_is_the_one_worked_by_hand(
    data: EstimationData, k: int, by_hand: float
) -> None:
    assert estimated(data, k) == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize(
    ("weighting", "by_hand"),
    [
        ("fixed-equal", ((1 + 1 / 3 + 1 / 3) + (1 / 2 + 2 / 3) + (1 / 2 + 1 / 2 + 1 / 3)) / 9),
        (
            "fixed-similarity",
            (
                (0.8 + 0.8 / 3 + 0.6 / 3) / 2.2
                + (1 / 2 + 0.96 / 3 + 0.936 / 3) / 2.896
                + (0.5 + 0.48 + 0.8 / 3) / 2.76
            )
            / 3,
        ),
        ("adaptive-equal", ((1 + 1 / 3) / 2 + (1 / 2 + 1 / 3) / 2 + 1 / 2) / 3),
    ],
)
def test_the_ablation_is_the_one_worked_by_hand(
    data: EstimationData, weighting: Weighting, by_hand: float
) -> None:
    assert estimated(data, 3, weighting) == pytest.approx(by_hand, abs=1e-12)


def test_more_neighbours_than_training_pairs_are_all_of_them(data: EstimationData) -> None:
    assert estimated(data, 8) == estimated(data, 7)
    assert data.nearest(8).rows.shape == (3, 7)


def test_the_same_ranks_give_every_measure(data: EstimationData) -> None:
    found = KAPE(1).estimate(data, budget=1, seed=0)
    assert found.mean("Answered@1") == pytest.approx(1 / 3, abs=1e-12)
    assert found.mean("NDCG@10") == pytest.approx((1 + 2 / np.log2(3)) / 3, abs=1e-12)
    assert found.mean("Recall@10") == 1


def test_a_plain_mean_weighs_all_ranks_the_same() -> None:
    assert Estimate.of(np.array([1, 2, 4])).mean("MRR") == pytest.approx(1.75 / 3)


def test_a_far_neighbour_is_left_out_and_a_far_nearer_one_kept() -> None:
    similarities = np.array([[0.99, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 0.1]])
    assert kept_neighbours(similarities).tolist() == [[True] * 4, [True, True, True, False]]


def test_the_first_neighbour_of_the_paper_s_example_is_kept() -> None:
    """It "can precisely estimate"; equation 3 to the letter would leave it out."""
    example = np.array([[1, 0.8743, 0.8718, 0.8472, 0.8443]])
    assert kept_neighbours(example).tolist() == [[True] * 5]


def test_table_6_is_made_by_leaving_out_the_far_neighbours() -> None:
    """Similarities of 600 documentation queries to their ten nearest of 7,800 others, MiniLM."""
    nearest = np.load(Path(__file__).with_name("nearest_similarities.npy")) / np.iinfo("u2").max
    tables = published_tables()
    means = [row.mean for by_model in tables.table6.values() for row in by_model.values()]
    lowest, highest = np.min(means, axis=0), np.max(means, axis=0)
    ours = np.array([each.mean for each in neighbours_used(nearest, range(3, 11))])
    assert (ours > lowest).all()
    assert (ours < highest).all()
    queries = tables.used["Go"]["GraphCodeBERT"]
    go = np.array([queries[number] for number in (10, 9, 8, 7, 6)]) / sum(queries.values())
    assert shares(kept_neighbours(nearest)) == pytest.approx(go, abs=0.05)


def shares(kept: Kept) -> list[float]:
    """Return the shares of rows that use 10, 9, 8, 7 and 6 neighbours."""
    used = kept.sum(axis=1)
    return [float((used == number).mean()) for number in (10, 9, 8, 7, 6)]


SIMILARITIES = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 10)),
    elements=st.floats(0.0625, 1, width=32),
)
COSINES = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 5), st.integers(1, 10)), elements=st.floats(-1, 1)
)


@given(COSINES, st.sampled_from(get_args(Weighting)))
def test_no_cosine_gives_a_share_below_0_or_above_1(
    similarities: np.ndarray[tuple[int, int], np.dtype[np.float64]], weighting: Weighting
) -> None:
    weights = neighbour_weights(similarities, weighting)
    assert weights.min() >= 0
    assert weights.sum(axis=1) == pytest.approx(1)


@given(SIMILARITIES, st.sampled_from(get_args(Weighting)))
def test_weights_are_shares_of_the_kept_neighbours(
    similarities: np.ndarray[tuple[int, int], np.dtype[np.float64]], weighting: Weighting
) -> None:
    weights = neighbour_weights(similarities, weighting)
    assert weights.sum(axis=1) == pytest.approx(1)
    kept = kept_neighbours(similarities)
    assert kept.any(axis=1).all()
    assert np.array_equal(weights > 0, kept if weighting.startswith("adaptive") else kept | True)


@pytest.mark.parametrize(
    ("row", "shares"),
    [
        ([0.0, 0.0, 0.0], [1 / 3] * 3),
        ([-0.1, -0.2, -0.3], [1 / 3] * 3),
        ([0.5, 0.0, -0.5], [1, 0, 0]),
        ([0.3, 0.1, -0.39], [3 / 4, 1 / 4, 0]),
    ],
)
def test_neighbours_with_a_cosine_below_0_weigh_nothing_unless_all_do(
    row: list[float], shares: list[float]
) -> None:
    assert neighbour_weights(np.array([row]), "fixed-similarity")[0] == pytest.approx(shares)


@pytest.mark.parametrize("number", [3, 4, 5, 10])
def test_equal_similarities_are_all_kept(number: int) -> None:
    """Rounding of their mean must not turn a deviation of 0 into z-scores."""
    for value in (0.1, 0.7, 1 / 3, 0.9999999):
        assert kept_neighbours(np.full((1, number), value)).all()
