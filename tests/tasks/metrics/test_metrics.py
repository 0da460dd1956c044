"""Laws of the metrics, with pytrec_eval as the independent judge."""

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import UnknownNameError
from tasks.metrics import evaluate, metrics
from tasks.retrievers.rankings import NOTHING, Rankings, rank_scores

CODES = [f"c{n:02}" for n in range(30)]
TREC = {"NDCG@10": "ndcg_cut_10", "MRR": "recip_rank", "MAP": "map", "Recall@10": "recall_10"}
Qrels = dict[str, dict[str, int]]


def random_case(seed: int) -> tuple[Rankings, Qrels]:
    """Return rankings with ties and graded labels; some queries unranked, some without labels."""
    generator = np.random.default_rng(seed)
    queries = [f"q{n}" for n in range(6)]
    scores = generator.integers(0, 8, size=(6, 30)).astype(float)
    rankings = rank_scores(queries[:5], CODES, scores[:5], int(generator.integers(1, 31)))
    qrels = {
        query: {
            str(code): int(grade)
            for code, grade in zip(
                generator.choice(CODES, 8, replace=False), generator.integers(0, 4, 8), strict=True
            )
        }
        for query in queries[1:]
    }
    return rankings, qrels


def as_run(rankings: Rankings) -> dict[str, dict[str, float]]:
    """Return the run with scores that fall from rank to rank, so that nobody's tie rule matters."""
    run: dict[str, dict[str, float]] = {}
    for query, code, _ in rankings.rows():
        run.setdefault(query, {})[code] = 1000.0 - len(run.get(query, {}))
    return run


@pytest.mark.parametrize("name", metrics.names())
@pytest.mark.parametrize("seed", range(50))
def test_every_metric_agrees_with_pytrec_eval(name: str, seed: int) -> None:
    rankings, qrels = random_case(seed)
    judge = pytrec_eval.RelevanceEvaluator(qrels, {TREC[name]})
    expected = {
        query: values[TREC[name]] for query, values in judge.evaluate(as_run(rankings)).items()
    }
    ours = evaluate(rankings, qrels, [name])[name]
    judged = {query for query, of in qrels.items() if any(grade > 0 for grade in of.values())}
    assert set(ours) == judged
    for query in judged:
        assert ours[query] == pytest.approx(expected.get(query, 0.0), abs=1e-9)


@pytest.mark.parametrize("name", metrics.names())
@given(seed=st.integers(0, 10_000))
def test_every_metric_lies_between_0_and_1(name: str, seed: int) -> None:
    rankings, qrels = random_case(seed)
    for value in evaluate(rankings, qrels, [name])[name].values():
        assert 0.0 <= value <= 1.0 + 1e-12


@pytest.mark.parametrize("name", metrics.names())
@given(seed=st.integers(0, 10_000), rank=st.integers(1, 29))
def test_moving_a_relevant_result_up_never_hurts(name: str, seed: int, rank: int) -> None:
    rankings, qrels = random_case(seed)
    rank = min(rank, rankings.depth - 1)
    moved = rankings.codes.copy()
    for row, query in enumerate(rankings.query_ids):
        of = qrels.get(query, {})
        upper, lower = (of.get(CODES[moved[row, at]], 0) for at in (rank - 1, rank))
        if rank and lower > upper:
            moved[row, [rank - 1, rank]] = moved[row, [rank, rank - 1]]
    better = Rankings(rankings.query_ids, CODES, moved, rankings.scores)
    before, after = (evaluate(each, qrels, [name])[name] for each in (rankings, better))
    for query, value in before.items():
        assert after[query] >= value - 1e-12


def test_a_perfect_ranking_scores_1_in_everything() -> None:
    rankings = rank_scores(["q"], CODES, -np.arange(30.0)[None, :], 30)
    scores = evaluate(rankings, {"q": {"c00": 3.0, "c01": 1.0}}, metrics.names())
    assert {name: of["q"] for name, of in scores.items()} == pytest.approx(
        dict.fromkeys(metrics.names(), 1.0)
    )


def test_a_query_without_relevant_code_is_left_out_and_an_empty_ranking_scores_0() -> None:
    empty = np.full((2, 5), NOTHING)
    rankings = Rankings(["q1", "q2"], CODES, empty, np.zeros((2, 5)))
    scores = evaluate(rankings, {"q1": {"c01": 1.0}, "q2": {"c01": 0.0}}, metrics.names())
    assert all(of == {"q1": 0.0} for of in scores.values())


def test_the_name_in_the_registry_is_the_name_that_is_printed() -> None:
    assert [metrics.get(name).name for name in metrics] == metrics.names()


def test_an_unknown_metric_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown metric 'NDCG@7'.*NDCG@10"):
        evaluate(rank_scores([], CODES, np.zeros((0, 30)), 5), {}, ["NDCG@7"])
