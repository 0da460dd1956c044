"""Labelling rounds: how far they agree."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tasks.statistics.agreement import krippendorff_alpha

Votes = Sequence[int | None]


def alphas_of_rounds(votes: Iterable[Votes], rounds: int) -> list[float | None]:
    """Return Krippendorff's nominal alpha of each round and the next; None where it is undefined.

    Args:
        votes: For each pair every round's label, None where it gave none.
        rounds: Number of rounds.
    """
    ratings = np.array(list(votes), np.float64).reshape(-1, rounds).T
    alphas = (
        krippendorff_alpha(ratings[first : first + 2], "nominal") for first in range(rounds - 1)
    )
    return [None if math.isnan(alpha) else alpha for alpha in alphas]
