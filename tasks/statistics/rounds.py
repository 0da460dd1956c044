"""Labelling rounds: how far they agree."""

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from infra.records import Record
from tasks.statistics.agreement import krippendorff_alpha
from tasks.statistics.people import majority

Votes = Sequence[int | None]

# Between rounds of all 103,020 pairs, in the order in which the paper names them (arXiv
# 2406.11589v1, section on annotation).
PUBLISHED_ALPHAS = (0.965, 0.975)


class TwoRounds(Record):
    """Agreement of two rounds, counted from 1; alpha is None where it is undefined."""

    first: int
    second: int
    pairs: int
    equal: int
    alpha: float | None


class RoundsAgreement(Record):
    """How far labelling rounds agree.

    Attributes:
        rounds: Number of rounds.
        pairs: Pairs with a label by at least one round.
        shared: Those with a label by two rounds or more, over which alpha is taken.
        alpha: Krippendorff's for nominal data, rounds as coders; None where it is undefined.
        each_two: Every two rounds.
        unanimous: Pairs with the same label by every round.
        by_majority: Pairs with one label by more than half of the rounds, unanimous ones included.
    """

    rounds: int
    pairs: int
    shared: int
    alpha: float | None
    each_two: tuple[TwoRounds, ...]
    unanimous: int
    by_majority: int

    @property
    def published(self) -> tuple[float, float]:
        """The paper's figures."""
        return PUBLISHED_ALPHAS


def rounds_agreement(votes: Iterable[Votes], rounds: int) -> RoundsAgreement:
    """Return how far rounds agree, over pairs that have a label by one of them or more.

    Args:
        votes: For each pair every round's label, None where it gave none.
        rounds: Number of rounds.
    """
    rows = [row for row in votes if any(vote is not None for vote in row)]
    ratings = np.array(rows, np.float64).reshape(-1, rounds).T
    return RoundsAgreement(
        rounds=rounds,
        pairs=len(rows),
        shared=int(((~np.isnan(ratings)).sum(axis=0) > 1).sum()),
        alpha=_alpha(ratings),
        each_two=tuple(
            _two_rounds(ratings, first, second) for first, second in combinations(range(rounds), 2)
        ),
        unanimous=int((ratings == ratings[:1]).all(axis=0).sum()),
        by_majority=sum(majority(row) is not None for row in rows),
    )


def _two_rounds(ratings: np.ndarray, first: int, second: int) -> TwoRounds:
    two = ratings[[first, second]]
    both = two[:, ~np.isnan(two).any(axis=0)]
    return TwoRounds(
        first=first + 1,
        second=second + 1,
        pairs=both.shape[1],
        equal=int((both[0] == both[1]).sum()),
        alpha=_alpha(both),
    )


def _alpha(ratings: np.ndarray) -> float | None:
    alpha = krippendorff_alpha(ratings, "nominal")
    return None if math.isnan(alpha) else alpha
