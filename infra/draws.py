"""Random samples that can be drawn again: by a seed and the items' ids, in whatever order."""

from collections.abc import Iterable
from typing import NamedTuple

from infra.identity import mark


class Draw(NamedTuple):
    """A simple random sample without replacement: the ids that hash lowest with the seed.

    It depends on the set of ids alone, and a larger sample holds a smaller one of the same seed.

    Attributes:
        number: How many to draw; None, or more than there are, takes all.
        seed: Of the sample.
    """

    number: int | None = None
    seed: int = 0

    def of(self, ids: Iterable[str]) -> set[str]:
        """Return the drawn ones of content-derived ids; one that comes twice counts once."""
        known = set(ids)
        if self.number is None:
            return known
        return set(sorted(known, key=lambda one: (mark(str(self.seed), one), one))[: self.number])


ALL = Draw()
