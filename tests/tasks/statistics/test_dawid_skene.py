"""Laws of the probability that a label is right, on votes whose truth and errors are known.

Covers `tasks.statistics.dawid_skene`.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from tasks.statistics import Values
from tasks.statistics.calibration import Rated, calibration_of
from tasks.statistics.dawid_skene import (
    Ballot,
    DawidSkene,
    JudgeRates,
    fit_dawid_skene,
    held_out,
)

VOTE = st.sampled_from([None, 0, 1])
BALLOTS = st.lists(
    st.builds(
        Ballot,
        votes=st.tuples(VOTE, VOTE, VOTE),
        pairs=st.integers(1, 50),
        truth=VOTE,
        planted=st.just(False),
    ),
    min_size=1,
    max_size=8,
)


def drawn(
    prior: float, rates: Sequence[tuple[float, float]], pairs: int, seed: int, known: int = 0
) -> list[Ballot]:
    """Return the ballots of made-up pairs, of which the first ``known`` have their truth."""
    random = np.random.default_rng(seed)
    truth = random.random(pairs) < prior
    votes = [
        np.where(truth, random.random(pairs) < right_one, random.random(pairs) >= right_zero)
        for right_one, right_zero in rates
    ]
    rows = zip(*(vote.astype(int).tolist() for vote in votes), strict=True)
    counted = Counter(
        (row, int(truth[place]) if place < known else None) for place, row in enumerate(rows)
    )
    return [Ballot(row, number, true) for (row, true), number in counted.items()]


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**16), prior=st.floats(0.2, 0.8))
def test_rates_of_three_judges_are_found_from_their_votes_alone(seed: int, prior: float) -> None:
    rates = [(0.9, 0.8), (0.75, 0.95), (0.85, 0.85)]
    found = fit_dawid_skene(drawn(prior, rates, 60_000, seed), 3)
    assert found.converged
    assert found.prior == pytest.approx(prior, abs=0.03)
    for judge, (right_one, right_zero) in zip(found.judges, rates, strict=True):
        assert judge.sensitivity == pytest.approx(right_one, abs=0.04)
        assert judge.specificity == pytest.approx(right_zero, abs=0.04)


def test_known_pairs_find_the_errors_that_two_judges_have_in_common() -> None:
    rates = [(0.95, 0.6), (0.9, 0.65)]
    found = fit_dawid_skene(drawn(0.3, rates, 40_000, 1, known=2_000), 2)
    assert [judge.specificity for judge in found.judges] == pytest.approx([0.6, 0.65], abs=0.03)
    assert found.prior == pytest.approx(0.3, abs=0.03)


@settings(max_examples=30, deadline=None)
@given(ballots=BALLOTS, order=st.permutations(range(3)), data=st.data())
def test_neither_the_order_of_judges_nor_that_of_pairs_matters(
    ballots: list[Ballot], order: list[int], data: st.DataObject
) -> None:
    found = fit_dawid_skene(ballots, 3)
    turned = [item._replace(votes=tuple(item.votes[n] for n in order)) for item in ballots]
    other = fit_dawid_skene(data.draw(st.permutations(turned)), 3)
    assert other.prior == pytest.approx(found.prior, abs=1e-4)
    assert [judge.sensitivity for judge in other.judges] == pytest.approx(
        [found.judges[n].sensitivity for n in order], abs=1e-4
    )


@settings(max_examples=30, deadline=None)
@given(ballots=BALLOTS)
def test_turning_all_labels_turns_what_is_found(ballots: list[Ballot]) -> None:
    found = fit_dawid_skene(ballots, 3)
    turned = [
        item._replace(
            votes=tuple(None if vote is None else 1 - vote for vote in item.votes),
            truth=None if item.truth is None else 1 - item.truth,
        )
        for item in ballots
    ]
    other = fit_dawid_skene(turned, 3)
    assert other.prior == pytest.approx(1 - found.prior, abs=1e-4)
    assert [judge.specificity for judge in other.judges] == pytest.approx(
        [judge.sensitivity for judge in found.judges], abs=1e-4
    )


@pytest.mark.parametrize(
    "ballots",
    [
        [Ballot((1, 1), 5), Ballot((0, 0), 9), Ballot((1, 0), 2), Ballot((0, 1), 1)],
        [Ballot((1, 1), 30), Ballot((1, 0), 10), Ballot((0, 0), 5, truth=0), Ballot((1, None), 3)],
        [
            Ballot((1, 0), 4),
            Ballot((1, 1), 6, truth=0, planted=True),
            Ballot((0, 0), 3, truth=1, planted=True),
            Ballot((0, 0), 20),
        ],
    ],
)
def test_no_other_rates_are_likelier(ballots: list[Ballot]) -> None:
    """The likelihood is written out pair by pair, and its peak sought by another method."""

    def log_posterior(rates: Values) -> float:
        sensitivity, specificity, prior = rates[:2], rates[2:4], rates[4]
        total = np.log(rates[:4]).sum() * 4 + np.log(1 - rates[:4]).sum()
        total += np.log(prior) + np.log(1 - prior)
        for item in ballots:
            by_truth = {1: 1.0 if item.planted else prior, 0: 1.0 if item.planted else 1 - prior}
            for judge, vote in enumerate(item.votes):
                if vote is not None:
                    by_truth[1] *= sensitivity[judge] if vote else 1 - sensitivity[judge]
                    by_truth[0] *= 1 - specificity[judge] if vote else specificity[judge]
            possible = by_truth if item.truth is None else {item.truth: by_truth[item.truth]}
            total += item.pairs * np.log(sum(possible.values()))
        return float(total)

    found = fit_dawid_skene(ballots, 2)
    ours = [judge.sensitivity for judge in found.judges]
    ours += [judge.specificity for judge in found.judges]
    random = np.random.default_rng(0)

    def lost(odds: Values) -> float:
        return -log_posterior(np.asarray(expit(odds)))

    starts: list[Values] = list(random.normal(1, 1, (8, 5)))
    peaks = [minimize(lost, start, method="BFGS").fun for start in starts]
    assert log_posterior(np.array([*ours, found.prior])) == pytest.approx(-min(peaks), abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_with_twelve_known_pairs_confidence_of_two_judges_holds_its_word(seed: int) -> None:
    """The second is taken for the better one beforehand, as it is."""
    rates = [(0.85, 0.88), (0.95, 0.97)]
    drawn_pairs = drawn(0.2, rates, 20_000, seed, known=20_000)
    known = [item._replace(planted=True) for item in drawn(0.25, rates, 12, seed + 100, known=12)]
    votes_alone = [item._replace(truth=None) for item in drawn_pairs]
    found = fit_dawid_skene(votes_alone + known, 2, wrong=(1.0, 0.5))
    held = calibration_of(
        [
            Rated(found.confidence(votes) or 0, found.label(votes) == truth, pairs)
            for votes, pairs, truth, _ in drawn_pairs
        ]
    )
    assert held is not None
    assert held.right > 0.95
    assert held.expected_error < 0.05


@pytest.mark.parametrize("pairs", [1, 10, 100_000])
def test_one_judge_without_a_known_pair_is_not_believed_for_certain(pairs: int) -> None:
    found = fit_dawid_skene([Ballot((1,), pairs), Ballot((0,), 3 * pairs)], 1)
    for vote in (0, 1):
        confidence = found.confidence((vote,))
        assert confidence is not None
        assert 0.5 < confidence < 0.97


def test_a_few_pairs_on_which_judges_agree_give_no_certainty() -> None:
    found = fit_dawid_skene([Ballot((1, 1, 1), 2), Ballot((0, 0, 0), 2)], 3)
    assert 0.9 < (found.confidence((1, 1, 1)) or 0) < 0.999


def test_a_judge_who_contradicts_known_pairs_loses_its_weight() -> None:
    known = [Ballot((1, 0), 40, truth=0, planted=True), Ballot((0, 1), 40, truth=1, planted=True)]
    found = fit_dawid_skene([*known, Ballot((1, 1), 50), Ballot((0, 0), 50)], 2)
    assert found.label((1, 0)) == 0
    assert found.label((0, 1)) == 1


def test_who_is_taken_for_better_beforehand_is_followed_until_known_pairs_say_otherwise() -> None:
    votes = [Ballot((1, 0), 9), Ballot((0, 1), 9), Ballot((1, 1), 20), Ballot((0, 0), 20)]
    assert fit_dawid_skene(votes, 2, wrong=(1.0, 0.5)).label((1, 0)) == 0
    assert fit_dawid_skene(votes, 2, wrong=(0.5, 1.0)).label((1, 0)) == 1
    known = [Ballot((1, 0), 30, truth=1, planted=True), Ballot((0, 1), 30, truth=0, planted=True)]
    assert fit_dawid_skene([*votes, *known], 2, wrong=(1.0, 0.5)).label((1, 0)) == 1


def test_planted_pairs_say_nothing_of_how_common_matches_are() -> None:
    votes = [Ballot((1, 1), 10), Ballot((0, 0), 90)]
    planted = [Ballot((1, 1), 500, truth=1, planted=True)]
    assert fit_dawid_skene([*votes, *planted], 2).prior < 0.15


RATES = DawidSkene(
    prior=0.5,
    judges=(
        JudgeRates(sensitivity=0.6, specificity=0.6),
        JudgeRates(sensitivity=0.6, specificity=0.6),
        JudgeRates(sensitivity=0.9, specificity=0.9),
    ),
)


@pytest.mark.parametrize(
    ("votes", "label"),
    [
        ((None, None, None), None),
        ((1, None, None), 1),
        ((0, 0, None), 0),
        ((0, 0, 1), 1),  # one good judge outweighs two weak ones
        ((1, 0, None), 0),  # equal weights: the last who voted
        ((0, 1, None), 1),
    ],
)
def test_the_label_is_the_likelier_one_where_judges_differ(
    votes: tuple[int | None, ...], label: int | None
) -> None:
    assert RATES.label(votes) == label


def test_judges_who_agree_are_followed_however_unlikely_it_is() -> None:
    doubtful = RATES.model_copy(update={"prior": 0.01})
    assert doubtful.label((1, None, None)) == 1
    assert (doubtful.confidence((1, None, None)) or 1) < 0.05


@pytest.mark.parametrize("votes", list(product([None, 0, 1], repeat=3)))
def test_a_posterior_is_what_bayes_says(votes: tuple[int | None, ...]) -> None:
    one, zero = RATES.prior, 1 - RATES.prior
    for judge, vote in zip(RATES.judges, votes, strict=True):
        if vote is not None:
            one *= judge.sensitivity if vote else 1 - judge.sensitivity
            zero *= 1 - judge.specificity if vote else judge.specificity
    assert RATES.posterior(votes) == pytest.approx(one / (one + zero))


def test_a_known_pair_is_judged_by_rates_that_it_did_not_shape() -> None:
    ballots = [
        Ballot((1,), 1, truth=0, planted=True),
        Ballot((1,), 3, truth=1, planted=True),
        Ballot((0,), 20),
    ]
    fitted = fit_dawid_skene(ballots, 1)
    wrong, right = held_out(ballots, 1, fitted)
    assert (wrong.ballot, right.ballot) == (ballots[0], ballots[1])
    without = fit_dawid_skene(ballots[1:], 1)
    assert wrong.rates.judges[0].specificity == pytest.approx(
        without.judges[0].specificity, abs=1e-5
    )
    assert wrong.rates.judges[0].specificity > fitted.judges[0].specificity


@pytest.mark.parametrize("judges", [0, 2])
def test_without_votes_nothing_is_known(judges: int) -> None:
    found = fit_dawid_skene([], judges)
    assert found.prior == pytest.approx(0.5)
    assert found.confidence((None,) * judges) is None
