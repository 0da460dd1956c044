"""Laws of scores that are corrected by people's labels."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tasks.benchmarks.runs import Rankings, rankings_of
from tasks.metrics import Qrels, evaluate
from tasks.reports.corrected import (
    CorrectedScores,
    PeopleLabels,
    corrected_figures,
    corrected_scores,
    corrected_section,
)
from tasks.reports.document import Figure

QUERIES, CODES = 300, 6
NOBODY = PeopleLabels(queries={}, pairs={})


def made_up(seed: int) -> tuple[dict[str, Rankings], Qrels, Qrels]:
    """Return the rankings of two methods, the true labels, and labels that err.

    The better method puts matches first more often; of matches the labels miss a tenth, and they
    have one in twenty of the others.
    """
    generator = np.random.default_rng(seed)
    true = generator.random((QUERIES, CODES)) < 0.25
    errs = generator.random((QUERIES, CODES)) < np.where(true, 0.1, 0.05)
    rankings = {}
    for method, noise in (("good", 0.5), ("poor", 2.0)):
        found = true + noise * generator.normal(size=true.shape)
        rankings[method] = rankings_of(_by_query(found))
    return rankings, _by_query(true * 1.0), _by_query((true ^ errs) * 1.0)


def _by_query(values: npt.NDArray[np.floating[Any]]) -> dict[str, dict[str, float]]:
    """Return query → code → value of (queries, codes) values."""
    return {
        f"q{query}": {f"c{query}-{code}": value for code, value in enumerate(row)}
        for query, row in enumerate(values.tolist())
    }


def drawn(true: Qrels, seed: int, queries: int, pairs: int) -> PeopleLabels:
    generator = np.random.default_rng([seed, 1])
    chosen = generator.choice(QUERIES, queries, replace=False)
    all_pairs = [(query, code) for query, of in true.items() for code in of]
    some: dict[str, dict[str, float]] = {}
    for place in generator.choice(len(all_pairs), pairs, replace=False):
        query, code = all_pairs[place]
        some.setdefault(query, {})[code] = true[query][code]
    return PeopleLabels(queries={f"q{place}": true[f"q{place}"] for place in chosen}, pairs=some)


def by_people(
    rankings: dict[str, Rankings], labels: Qrels, people: PeopleLabels
) -> CorrectedScores | None:
    values = {method: evaluate(ranked, labels, ["MRR"]) for method, ranked in rankings.items()}
    return corrected_scores(rankings, values, labels, people, ["MRR"])


def true_mean(rankings: Rankings, true: Qrels) -> float:
    return sum(evaluate(rankings, true, ["MRR"])["MRR"].values()) / QUERIES


def test_intervals_hold_the_scores_that_peoples_labels_of_all_pairs_give() -> None:
    held, rounds = np.zeros(4), 100
    for seed in range(rounds):
        rankings, true, labels = made_up(seed)
        found = by_people(rankings, labels, drawn(true, seed, 60, 200))
        assert found
        good, poor = (true_mean(ranked, true) for ranked in rankings.values())
        share = float(np.mean([value for of in true.values() for value in of.values()]))
        for place, value in enumerate((good, poor, good - poor, share)):
            figure = found.figures[place].corrected
            held[place] += figure.low <= value <= figure.high
    assert (held >= 0.88 * rounds).all()


def test_a_metric_is_a_column_and_a_method_a_row_of_scores_and_of_distances() -> None:
    rankings, true, labels = made_up(0)
    found = by_people(rankings, labels, drawn(true, 0, 60, 200))
    assert found
    names = [(each.metric, each.method, each.less) for each in found.figures]
    assert names == [
        ("MRR", "good", ""), ("MRR", "poor", ""), ("MRR", "good", "poor"),
        ("share of matches", "", ""),
    ]  # fmt: skip
    assert found.figures[0].by_labels == pytest.approx(true_mean(rankings["good"], labels))
    assert (found.queries, found.sampled_queries, found.sampled_pairs) == (QUERIES, 60, 200)
    tables = [figure.table for figure in corrected_figures(found)]
    shown = [(table.header, [row[0] for row in table.rows]) for table in tables]
    assert shown == [
        (("", "MRR"), ["good", "poor"]), (("", "MRR"), ["poor"]),
        (("", "share of matches"), ["all pairs"]),
    ]  # fmt: skip
    assert tables[0].caption.startswith("Means over all 300 queries")
    assert tables[1].caption.startswith("good less each other method")
    blocks = corrected_section(found).blocks
    assert sum(isinstance(block, Figure) for block in blocks) == len(tables)


def test_a_query_of_which_people_left_out_a_pair_is_no_sampled_query() -> None:
    rankings, true, labels = made_up(0)
    people = drawn(true, 0, 12, 200)
    partly = {query: dict(list(of.items())[:-1]) for query, of in people.queries.items()}
    found = by_people(rankings, labels, PeopleLabels(partly, people.pairs))
    assert found
    assert found.sampled_queries == 0
    assert [figure.metric for figure in found.figures] == ["share of matches"]


def test_pairs_of_another_benchmark_count_for_nothing() -> None:
    rankings, _, labels = made_up(0)
    others = {f"x{place}": {"y": 1.0} for place in range(50)}
    assert by_people(rankings, labels, PeopleLabels(others, others)) is None
    assert by_people(rankings, labels, NOBODY) is None


def test_without_methods_the_share_of_matches_alone_is_corrected() -> None:
    _, true, labels = made_up(0)
    found = by_people({}, labels, drawn(true, 0, 60, 200))
    assert found
    assert [figure.metric for figure in found.figures] == ["share of matches"]
