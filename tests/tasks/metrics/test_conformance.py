"""Laws that every registered metric keeps, with and without a cut-off."""

import random
from typing import TypeVar

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.benchmarks.runs import NOTHING, Rankings, rankings_of
from tasks.metrics import evaluate, metrics
from tests.tasks.metrics.cases import CODES, random_case

QUICK = settings(deadline=None, max_examples=60)

Value = TypeVar("Value")
# A name of every family with a cut-off, and of every family that does without.
NAMES = [
    *(f"{family}@{depth}" for family in metrics.names() for depth in (1, 5)),
    *(family for family in metrics.names() if not metrics.get(family).needs_depth),
    *("NDCG-condensed@10", "MAP-condensed", "MRR-zero", "NDCG-exp-condensed-zero@3"),
]


@QUICK
@given(seed=st.integers(0, 10_000))
def test_every_metric_lies_between_0_and_1(seed: int) -> None:
    rankings, qrels = random_case(seed)
    for name, values in evaluate(rankings, qrels, NAMES).items():
        assert all(0.0 <= value <= 1.0 + 1e-12 for value in values.values()), name


def shuffled(items: dict[str, Value], order: random.Random) -> dict[str, Value]:
    return dict(order.sample(list(items.items()), len(items)))


@QUICK
@given(seed=st.integers(0, 10_000), order=st.randoms())
def test_the_order_in_which_results_and_labels_come_changes_nothing(
    seed: int, order: random.Random
) -> None:
    generator = np.random.default_rng(seed)
    run = {
        f"q{n}": {code: float(generator.integers(0, 3)) for code in CODES[: 6 * n]}
        for n in range(5)
    }
    _, qrels = random_case(seed)

    mixed = {query: shuffled(scores, order) for query, scores in shuffled(run, order).items()}
    regraded = {query: shuffled(grades, order) for query, grades in shuffled(qrels, order).items()}
    scores = evaluate(rankings_of(run), qrels, NAMES)
    assert evaluate(rankings_of(mixed), regraded, NAMES) == scores


def test_a_query_without_relevant_code_is_left_out_and_an_empty_ranking_scores_0() -> None:
    empty = np.full((2, 5), NOTHING)
    rankings = Rankings(["q1", "q2"], CODES, empty, np.zeros((2, 5)))
    scores = evaluate(rankings, {"q1": {"c01": 1.0}, "q2": {"c01": 0.0}}, NAMES)
    for name, values in scores.items():
        assert values == ({"q1": 0.0, "q2": 0.0} if "-zero" in name else {"q1": 0.0})


def test_nothing_ranked_and_nothing_judged_are_no_errors() -> None:
    nothing = rankings_of({})
    assert evaluate(nothing, {}, NAMES) == {name: {} for name in NAMES}
    assert all(of == {"q": 0.0} for of in evaluate(nothing, {"q": {"c": 1.0}}, NAMES).values())
    assert evaluate(rankings_of({"q": {"c": 1.0}}), {}, NAMES) == {name: {} for name in NAMES}


def test_results_of_which_none_is_relevant_to_any_query_are_no_errors() -> None:
    ranked = rankings_of({"q1": {"c1": 2.0, "c2": 1.0}, "q2": {"c2": 1.0}})
    scores = evaluate(ranked, {"q1": {"c1": 0.0}, "q2": {}}, NAMES)
    for name, values in scores.items():
        assert values == (dict.fromkeys(("q1", "q2"), 0.0) if "-zero" in name else {}), name
