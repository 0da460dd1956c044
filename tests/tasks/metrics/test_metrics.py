"""Values of the metrics, with pytrec_eval and ir-measures as independent judges.

Covers `tasks.metrics.*`.
"""

from typing import TypeVar

import ir_measures
import numpy as np
import pyarrow as pa
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.errors import UnknownNameError
from tasks.benchmarks.runs import NOTHING, Rankings, rank_rows, rankings_of
from tasks.metrics import STANDARD, JudgedLists, Variant, evaluate, metrics
from tests.fakes.benchmarks import rank_scores
from tests.tasks.metrics.cases import CODES, Qrels, Run, as_run, random_case
from tests.tasks.metrics.test_conformance import NAMES

QUICK = settings(deadline=None, max_examples=60)

Value = TypeVar("Value")
TREC = {
    "NDCG": "ndcg",
    "MRR": "recip_rank",
    "MAP": "map",
    "bpref": "bpref",
    "NDCG@10": "ndcg_cut_10",
    "MAP@5": "map_cut_5",
    "Recall@10": "recall_10",
    "Precision@5": "P_5",
    "Answered@5": "success_5",
}
IR_MEASURES = {
    "NDCG@10": ir_measures.nDCG @ 10,
    "NDCG-condensed@10": ir_measures.nDCG(judged_only=True) @ 10,
    "MRR@5": ir_measures.RR @ 5,
    "MRR": ir_measures.RR,
    "MAP": ir_measures.AP,
    "MAP@5": ir_measures.AP @ 5,
    "MAP-condensed": ir_measures.AP(judged_only=True),
    "Recall@10": ir_measures.R @ 10,
    "Precision@5": ir_measures.P @ 5,
    "Answered@5": ir_measures.Success @ 5,
    "bpref": ir_measures.Bpref,
}
CASES = 1_000


@pytest.fixture(scope="module")
def cases() -> tuple[Rankings, Qrels]:
    """1,000 random runs of six queries each as one, since libraries take long to start."""
    run: Run = {}
    qrels: Qrels = {}
    for seed in range(CASES):
        rankings, judged = random_case(seed)
        run |= {f"{seed}-{query}": scores for query, scores in as_run(rankings).items()}
        qrels |= {f"{seed}-{query}": grades for query, grades in judged.items()}
    return rankings_of(run), qrels


@pytest.mark.parametrize("lowest", [0, -2])
def test_every_value_of_1000_random_runs_is_that_of_pytrec_eval_with_grades_below_0_too(
    cases: tuple[Rankings, Qrels], lowest: int
) -> None:
    rankings, positive = cases
    qrels = {
        query: {
            code: grade or -(place % (1 - lowest))
            for place, (code, grade) in enumerate(grades.items())
        }
        for query, grades in positive.items()
    }
    judge = pytrec_eval.RelevanceEvaluator(qrels, set(TREC.values()))
    expected = judge.evaluate(as_run(rankings))
    for name, values in evaluate(rankings, qrels, TREC).items():
        theirs = {query: expected.get(query, {}).get(TREC[name], 0.0) for query in values}
        assert values == pytest.approx(theirs, abs=1e-9), name


def test_what_is_pooled_and_not_judged_or_junk_is_left_out_of_bpref_alone() -> None:
    qrels = {
        "q1": {"d1": -1.0, "d0": 1.0, "d2": 0.0, "d3": 2.0},
        "q2": {"d0": -2.0, "d2": 2.0, "d4": 0.0},
    }
    run = {"q1": {"d1": 8, "d0": 7, "d2": 6, "d3": 5}, "q2": {"d0": 8, "d2": 7, "d4": 6}}
    values = evaluate(rankings_of(run), qrels, ["bpref", "MAP", "MRR-condensed"])
    assert values == {
        "bpref": {"q1": 0.5, "q2": 1.0},
        "MAP": {"q1": 0.5, "q2": 0.5},
        "MRR-condensed": {"q1": 1.0, "q2": 1.0},
    }
    lists = {query: list(codes) for query, codes in run.items()}
    by_list = JudgedLists.of_results(lists, qrels)
    assert Variant.parse("bpref").score(by_list).tolist() == [0.5, 1.0]


def test_map_is_never_above_recall_at_its_cut_and_map_of_those_found_may_be() -> None:
    """Ranks 1 and 3 of four relevant codes: precisions 1 and 2/3; the second query finds none."""
    qrels = {query: dict.fromkeys(("d0", "d1", "d2", "d3"), 1.0) for query in ("q1", "q2")}
    run = {"q1": {"d0": 9, "x": 8, "d1": 7}, "q2": {"x": 9, "y": 8}}
    values = evaluate(rankings_of(run), qrels, ["MAP@10", "MAP-found@10", "Recall@10"])
    assert values["MAP@10"]["q1"] == pytest.approx((1 + 2 / 3) / 4)
    assert values["MAP-found@10"] == {"q1": pytest.approx((1 + 2 / 3) / 2), "q2": 0}
    assert values["MAP@10"]["q1"] <= values["Recall@10"]["q1"] < values["MAP-found@10"]["q1"]


def test_exponential_gain_is_linear_gain_of_2_to_the_relevance_minus_1(
    cases: tuple[Rankings, Qrels],
) -> None:
    rankings, qrels = cases
    gains = {q: {code: 2**grade - 1 for code, grade in of.items()} for q, of in qrels.items()}
    judge = pytrec_eval.RelevanceEvaluator(gains, {"ndcg_cut_5"})
    expected = judge.evaluate(as_run(rankings))
    values = evaluate(rankings, qrels, ["NDCG-exp@5"])["NDCG-exp@5"]
    theirs = {query: expected.get(query, {}).get("ndcg_cut_5", 0.0) for query in values}
    assert values == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("family", ["NDCG", "NDCG-exp"])
@pytest.mark.parametrize("grade", [1e308, 1e5, 1024.0, 1023.0, 1e-17, 1e-300])
def test_any_grade_has_a_gain(family: str, grade: float) -> None:
    """Three codes have the grade, two of them are found, at the ranks 1 and 3."""
    qrels = {"q": {"a": grade, "b": grade, "c": grade, "d": 0.0}}
    rankings = rankings_of({"q": {"a": 3.0, "d": 2.0, "b": 1.0}})
    value = evaluate(rankings, qrels, [f"{family}@3"])[f"{family}@3"]["q"]
    discounts = 1 / np.log2([2, 3, 4])
    assert value == pytest.approx((discounts[0] + discounts[2]) / discounts.sum())


def test_a_grade_far_below_the_highest_counts_for_nothing_beside_it() -> None:
    qrels = {"q": {"a": 2000.0, "b": 1999.0, "c": 3.0}}
    rankings = rankings_of({"q": {"c": 3.0, "b": 2.0, "a": 1.0}})
    value = evaluate(rankings, qrels, ["NDCG-exp@3"])["NDCG-exp@3"]["q"]
    first, second, third = 1 / np.log2([2, 3, 4])
    assert value == pytest.approx((second / 2 + third) / (first + second / 2))


def test_every_value_of_1000_random_runs_is_that_of_ir_measures(
    cases: tuple[Rankings, Qrels],
) -> None:
    rankings, qrels = cases
    expected: dict[str, dict[str, float]] = {}
    for found in ir_measures.iter_calc(IR_MEASURES.values(), qrels, as_run(rankings)):
        expected.setdefault(str(found.measure), {})[found.query_id] = found.value
    for name, values in evaluate(rankings, qrels, IR_MEASURES).items():
        theirs = expected[str(IR_MEASURES[name])]
        assert values == pytest.approx(
            {query: theirs.get(query, 0.0) for query in values}, abs=1e-9
        )


def test_families_that_libraries_know_are_all_compared() -> None:
    compared = {Variant.parse(name).family for name in (*TREC, *IR_MEASURES)}
    assert compared | {"MMRR", "NDCG-exp"} <= set(metrics.names())


@QUICK
@given(seed=st.integers(0, 10_000), rank=st.integers(1, 29))
def test_swapping_a_relevant_result_down_never_helps(seed: int, rank: int) -> None:
    rankings, qrels = random_case(seed)
    rank = min(rank, rankings.depth - 1)
    moved = rankings.codes.copy()
    for row, query in enumerate(rankings.query_ids):
        of = qrels.get(query, {})
        upper, lower = (of.get(CODES[moved[row, at]], 0) for at in (rank - 1, rank))
        if rank and moved[row, 0] != NOTHING and lower > upper:
            moved[row, [rank - 1, rank]] = moved[row, [rank, rank - 1]]
    better = Rankings(rankings.query_ids, CODES, moved, rankings.scores)
    before, after = (evaluate(each, qrels, NAMES) for each in (rankings, better))
    for name, values in before.items():
        for query, value in values.items():
            assert after[name][query] >= value - 1e-12, name


def test_ties_fall_by_id() -> None:
    rankings = rankings_of({"q": {"b": 1.0, "c": 2.0, "a": 1.0}})
    assert [code for _, code, _ in rankings.rows()] == ["c", "a", "b"]


def test_a_run_that_has_a_result_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="query 'q' has code 'b' twice"):
        rank_rows(pa.array(["q", "q", "q"]), pa.array(["b", "a", "b"]), np.array([1.0, 2.0, 3.0]))


def test_a_perfect_ranking_scores_1_in_everything_but_precision() -> None:
    rankings = rank_scores(["q"], CODES, -np.arange(30.0)[None, :], 30)
    names = [name for name in NAMES if "Precision" not in name and name != "Recall@1"]
    scores = evaluate(rankings, {"q": {"c00": 3.0, "c01": 1.0}}, names)
    whole = {name: of["q"] for name, of in scores.items() if "@1" not in name or "NDCG" in name}
    assert whole == pytest.approx(dict.fromkeys(whole, 1.0))


@pytest.mark.parametrize(
    ("relevant", "returned", "expected"),
    [
        ("abc", "abc", 1.0),
        ("abc", "cba", 1.0),
        ("ab", "xab", (1 / 2 + 1 / 2) / 2),  # ranks 2 and 3 - 1
        ("ab", "axyb", (1 + 1 / 3) / 2),  # ranks 1 and 4 - 1
        ("abc", "xb", (1 / 2) / 3),  # a and c were not returned
    ],
)
def test_mmrr_takes_off_each_rank_the_relevant_codes_before_it(
    relevant: str, returned: str, expected: float
) -> None:
    run = {"q": {code: -float(rank) for rank, code in enumerate(returned)}}
    qrels = {"q": dict.fromkeys(relevant, 1.0)}
    assert evaluate(rankings_of(run), qrels, ["MMRR"])["MMRR"]["q"] == pytest.approx(expected)


def test_perfect_lists_of_two_and_three_codes_get_068_unadjusted_and_1_and_1_adjusted() -> None:
    run = {"two": {"a": 2.0, "b": 1.0}, "three": {"a": 3.0, "b": 2.0, "c": 1.0}}
    qrels = {query: dict.fromkeys(scores, 1.0) for query, scores in run.items()}
    unadjusted = [np.mean([1 / rank for rank in range(1, n + 1)]) for n in (2, 3)]
    assert round(float(np.mean(unadjusted)), 2) == 0.68
    assert evaluate(rankings_of(run), qrels, ["MMRR"])["MMRR"] == {"two": 1.0, "three": 1.0}


def test_condensed_lists_lose_what_nobody_judged_before_they_are_cut() -> None:
    run = rankings_of({"q": {"x": 4.0, "no": 3.0, "y": 2.0, "yes": 1.0}})
    scores = evaluate(run, {"q": {"no": 0.0, "yes": 1.0}}, ["MRR", "MRR-condensed", "MRR@2"])
    assert {name: of["q"] for name, of in scores.items()} == {
        "MRR": 0.25,
        "MRR-condensed": 0.5,
        "MRR@2": 0.0,
    }


@pytest.mark.parametrize("name", ["NDCQ@10", "NDCG@0", "NDCG@-1", "@10", "", "NDCG-zero-condensed"])
def test_an_unknown_metric_is_an_error_that_lists_the_known(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown metric .*one of .*NDCG"):
        evaluate(rankings_of({}), {}, [name])


def test_a_metric_that_needs_a_depth_says_so() -> None:
    with pytest.raises(UnknownNameError, match="write Recall@10"):
        evaluate(rankings_of({}), {}, ["Recall"])


def test_the_standard_metrics_are_known() -> None:
    assert set(evaluate(rankings_of({}), {}, STANDARD)) == set(STANDARD)
