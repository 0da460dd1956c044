"""The probability that a label is right, from several judges' votes (Dawid and Skene 1979).

Each judge errs at two rates of its own, independently of the others once the truth is given. From
the votes alone, of which any may be missing, expectation and maximisation find these rates together
with the share of matches; pairs whose truth is known anchor them.

A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the EM
algorithm", Applied Statistics 28 (1), 1979, for two classes.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from pydantic import Field

from infra.records import Record
from tasks.statistics import Values

# As if each judge had been seen on five pairs of either kind, wrong on one: so few pairs give no
# certainty, and of the two solutions that mirror each other the one is found in which judges know
# more than chance. One pair of each kind is added to the share of matches.
SEEN, SEEN_WRONG = 5.0, 1.0
_SEEN_OF_EACH_KIND = 1.0
_TOLERANCE = 1e-8  # of every rate, between two steps
_MAX_STEPS = 5_000
_EVEN = 1e-9  # log odds that no vote has moved

Votes = Sequence[int | None]
"""Each judge's label of a pair, in the order of the judges, None where it gave none."""


class Ballot(NamedTuple):
    """Pairs with the same votes.

    Attributes:
        votes: The votes.
        pairs: Number of these pairs.
        truth: Their known label, None where it is not known.
        planted: Whether they were put among the pairs, as canaries are: they say how judges err,
            not how common matches are.
    """

    votes: tuple[int | None, ...]
    pairs: int = 1
    truth: int | None = None
    planted: bool = False


class JudgeRates(Record):
    """How often a judge is right.

    Attributes:
        sensitivity: Of the pairs that match, the share that it labels 1.
        specificity: Of the others, the share that it labels 0.
    """

    sensitivity: float = Field(gt=0, lt=1)
    specificity: float = Field(gt=0, lt=1)

    @property
    def weights(self) -> tuple[float, float]:
        """What its vote adds to the log odds of a match: (a vote of 0, a vote of 1)."""
        return (
            float(np.log((1 - self.sensitivity) / self.specificity)),
            float(np.log(self.sensitivity / (1 - self.specificity))),
        )


class DawidSkene(Record):
    """Rates at which judges are right, and what their votes say of a pair.

    Attributes:
        prior: The share of pairs that match.
        judges: The rates of each judge.
        converged: Whether the last step changed nothing any more.
    """

    prior: float = Field(gt=0, lt=1)
    judges: tuple[JudgeRates, ...]
    converged: bool = True

    @property
    def prior_weight(self) -> float:
        """The log odds of a match before any vote."""
        return float(np.log(self.prior / (1 - self.prior)))

    def log_odds(self, votes: Votes) -> float:
        """Return the log odds that a pair with these votes matches."""
        given = zip(self.judges, votes, strict=True)
        return self.prior_weight + sum(
            judge.weights[vote] for judge, vote in given if vote is not None
        )

    def posterior(self, votes: Votes) -> float:
        """Return the probability that a pair with these votes matches."""
        return float(_logistic(np.array(self.log_odds(votes))))

    def label(self, votes: Votes) -> int | None:
        """Return the label that votes give: all judges' own, or the likelier one where they differ.

        Where both are equally likely, the last judge's who voted; None without a vote.
        """
        given = [vote for vote in votes if vote is not None]
        if len(set(given)) < 2:
            return given[0] if given else None
        odds = self.log_odds(votes)
        return given[-1] if abs(odds) < _EVEN else int(odds > 0)

    def confidence(self, votes: Votes) -> float | None:
        """Return the probability that the label of these votes is right, None without a label."""
        label = self.label(votes)
        if label is None:
            return None
        return self.posterior(votes) if label else 1 - self.posterior(votes)


class HeldOut(NamedTuple):
    """Known pairs with the same votes, judged by rates that were found without one of them."""

    ballot: Ballot
    rates: DawidSkene


def fit_dawid_skene(
    ballots: Sequence[Ballot],
    judges: int,
    start: DawidSkene | None = None,
    *,
    wrong: Sequence[float] = (),
) -> DawidSkene:
    """Return the likeliest rates of judges, given their votes and a little knowledge beforehand.

    Two judges without a known pair leave open which of them errs when they differ: then the rates
    rest on that knowledge more than on the votes.

    Args:
        ballots: The votes, in any order; the same votes may come several times.
        judges: Number of judges, the length of all votes.
        start: Rates near those sought; those of the known pairs alone if not given.
        wrong: How often each judge is taken to have erred beforehand on `SEEN` pairs of either
            kind; `SEEN_WRONG` if not given.
    """
    votes = np.array([ballot.votes for ballot in ballots], np.float64).reshape(len(ballots), judges)
    table = _Table(
        ones=(votes == 1).astype(np.float64),
        zeros=(votes == 0).astype(np.float64),
        pairs=np.array([ballot.pairs for ballot in ballots], np.float64),
        truth=np.array([ballot.truth for ballot in ballots], np.float64),
        is_drawn=np.array([not ballot.planted for ballot in ballots], np.float64),
    )
    beforehand = np.array(wrong or [SEEN_WRONG] * judges, np.float64)
    rates = _rates_of(start) if start else _maximised(table.known, table.known.truth, beforehand)
    for _ in range(_MAX_STEPS):
        before, rates = rates, _maximised(table, _expected(table, rates), beforehand)
        if np.abs(rates - before).max() < _TOLERANCE:
            return _result(rates, converged=True)
    return _result(rates, converged=False)


def held_out(
    ballots: Sequence[Ballot], judges: int, fitted: DawidSkene, *, wrong: Sequence[float] = ()
) -> Iterator[HeldOut]:
    """Yield each ballot of known truth with the rates that all pairs give but one of its own.

    Args:
        ballots: The votes.
        judges: Number of judges.
        fitted: The rates that all of them give.
        wrong: As `fit_dawid_skene` has it.
    """
    for place, ballot in enumerate(ballots):
        if ballot.truth is not None:
            fewer = ballot._replace(pairs=ballot.pairs - 1)
            others = [*ballots[:place], fewer, *ballots[place + 1 :]]
            yield HeldOut(ballot, fit_dawid_skene(others, judges, fitted, wrong=wrong))


class _Table(NamedTuple):
    """Ballots as arrays: (ballots, judges) votes of 1 and of 0, and (ballots,) the rest.

    ``truth`` is NaN where it is not known; ``is_drawn`` is 0 of planted pairs.
    """

    ones: Values
    zeros: Values
    pairs: Values
    truth: Values
    is_drawn: Values

    @property
    def known(self) -> "_Table":
        """The ballots whose truth is known."""
        is_known = ~np.isnan(self.truth)
        return _Table(*(column[is_known] for column in self))


def _rates_of(start: DawidSkene) -> Values:
    """Return (2 judges + 1,) sensitivities, specificities and the prior."""
    sensitivities = [judge.sensitivity for judge in start.judges]
    specificities = [judge.specificity for judge in start.judges]
    return np.array([*sensitivities, *specificities, start.prior])


def _expected(table: _Table, rates: Values) -> Values:
    """Return (ballots,) the probability of a match; the truth where it is known."""
    sensitivity, specificity = np.split(rates[:-1], 2)
    odds = np.log(rates[-1] / (1 - rates[-1]))
    odds = odds + table.ones @ np.log(sensitivity / (1 - specificity))
    odds = odds + table.zeros @ np.log((1 - sensitivity) / specificity)
    return np.where(np.isnan(table.truth), _logistic(odds), table.truth)


def _maximised(table: _Table, matches: Values, beforehand: Values) -> Values:
    """Return the likeliest rates where each pair matches with such a probability.

    Args:
        table: The votes.
        matches: (ballots,) these probabilities.
        beforehand: (judges,) errors that each judge is taken to have made before.
    """
    as_one, as_zero = table.pairs * matches, table.pairs * (1 - matches)
    right_ones, wrong_ones = table.ones.T @ as_one, table.ones.T @ as_zero
    right_zeros, wrong_zeros = table.zeros.T @ as_zero, table.zeros.T @ as_one
    drawn = table.is_drawn * table.pairs
    prior = (table.is_drawn @ as_one + _SEEN_OF_EACH_KIND) / (drawn.sum() + 2 * _SEEN_OF_EACH_KIND)
    return np.concatenate(
        [
            (right_ones + SEEN - beforehand) / (right_ones + wrong_zeros + SEEN),
            (right_zeros + SEEN - beforehand) / (right_zeros + wrong_ones + SEEN),
            [prior],
        ]
    )


def _logistic(odds: Values) -> Values:
    return np.asarray(0.5 * (1 + np.tanh(odds / 2)))


def _result(rates: Values, *, converged: bool) -> DawidSkene:
    sensitivities, specificities = np.split(rates[:-1], 2)
    return DawidSkene(
        prior=float(rates[-1]),
        judges=tuple(
            JudgeRates(sensitivity=float(one), specificity=float(zero))
            for one, zero in zip(sensitivities, specificities, strict=True)
        ),
        converged=converged,
    )
