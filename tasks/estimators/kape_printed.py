"""The estimator kape-printed: KAPE by equation 3 as printed, which drops the nearest neighbours.

Kept are neighbours whose similarity has a z-score of at most 1. The paper's Table 6 was not made
so, and its text wants the contrary: "to avoid the impact of low similarities".
"""

from tasks.estimators import estimators
from tasks.estimators.kape import KAPE, Kept, kept_neighbours
from tasks.statistics import Values


@estimators.register("kape-printed")
class PrintedKAPE(KAPE):
    """KAPE by the printed rule."""

    def _kept(self, similarities: Values) -> Kept:
        return kept_as_printed(similarities)


def kept_as_printed(similarities: Values) -> Kept:
    """Return which neighbours equation 3 keeps as printed: those at most one deviation above.

    Args:
        similarities: (queries, k) cosines.
    """
    return kept_neighbours(-similarities)
