"""The candidates of some queries, of which those that may be among the k best are kept."""

from collections.abc import Callable

import numpy as np

from tasks.search.scores import LOWEST, Doubles, Positions, Rows, Singles, places

_SPARE = 128


class Held:
    """Candidates of n queries, by scores in single precision.

    Whatever is surely not among the k best of its query is dropped, so that memory holds about
    2 k of each. Only equal scores can be more: `is_crowded` says so, `settle` drops them.

    Args:
        k: How many are wanted, at least 1.
        rounding: (n,) scores that are less than this apart may be equal, or the other way round.
    """

    def __init__(self, k: int, rounding: Singles) -> None:
        self.k = k
        self._rounding = rounding
        self._roomy = 2 * k + _SPARE
        self._kth = np.full(len(rounding), LOWEST, np.float32)
        nothing = np.empty(0, np.int64)
        self._fill(nothing, nothing.astype(np.int32), nothing.astype(np.float32))

    @property
    def bounds(self) -> Singles:
        """(n,) scores that a further candidate must reach."""
        bounds: Singles = np.maximum(self._kth - self._rounding, LOWEST)
        return bounds

    @property
    def is_crowded(self) -> bool:
        """Whether more candidates of a query are within rounding of its k-th than there is room."""
        return self._scores.shape[1] > self._roomy

    def raise_bounds(self, kth: Singles) -> None:
        """Make sure that no bound is below that of k candidates known to be there.

        Args:
            kth: (n,) scores that at least k candidates of each query reach.
        """
        self._kth = np.maximum(self._kth, kth)

    def widen(self, rounding: Singles) -> None:
        """Take scores as less exact from now on.

        Args:
            rounding: (n,) no less than before.
        """
        self._rounding = rounding

    def add(self, rows: Rows, positions: Positions, scores: Singles) -> None:
        """Hold candidates.

        Args:
            rows: (m,) queries, ascending.
            positions: (m,) what the candidates are.
            scores: (m,)
        """
        while len(rows):
            slots = self._counts[rows] + places(rows)
            fits = slots < self._scores.shape[1]
            self._write(rows[fits], slots[fits], positions[fits], scores[fits])
            rows, positions, scores = rows[~fits], positions[~fits], scores[~fits]
            if len(rows):
                self._thin()
                kept = scores >= self.bounds[rows]
                rows, positions, scores = rows[kept], positions[kept], scores[kept]

    def candidates(self) -> tuple[Rows, Positions]:
        """Return the queries, ascending, and the positions of all that may be among the k best."""
        self._thin()
        rows, slots = np.nonzero(self._scores >= LOWEST)
        return rows, self._positions[rows, slots]

    def settle(self, exact: Callable[[Rows, Positions], Doubles]) -> None:
        """Keep the k best alone where it is crowded, by scores in double precision.

        Args:
            exact: Returns the scores of queries and positions.
        """
        self._thin()
        rows, slots = np.nonzero(self._scores >= LOWEST)
        positions, scores = self._positions[rows, slots], self._scores[rows, slots]
        crowded = np.flatnonzero((self._counts > self._roomy // 2 + self.k // 2)[rows])
        order = crowded[
            np.lexsort(
                (positions[crowded], -exact(rows[crowded], positions[crowded]), rows[crowded])
            )
        ]
        dropped = order[places(rows[order]) >= self.k]
        kept = np.ones(len(rows), bool)
        kept[dropped] = False
        self._fill(rows[kept], positions[kept], scores[kept])

    def _thin(self) -> None:
        """Drop what is below the k-th of its query by more than the rounding."""
        last = self._scores.shape[1] - self.k
        self.raise_bounds(np.partition(self._scores, last, axis=1)[:, last])
        rows, slots = np.nonzero(self._scores >= self.bounds[:, None])
        self._fill(rows, self._positions[rows, slots], self._scores[rows, slots])

    def _fill(self, rows: Rows, positions: Positions, scores: Singles) -> None:
        """Replace all candidates, with room for as many again."""
        self._counts = np.zeros(len(self._rounding), np.int64)
        most = int(np.bincount(rows).max(initial=0))
        capacity = self._roomy if most <= (self._roomy + self.k) // 2 else 2 * most
        self._scores = np.full((len(self._rounding), capacity), -np.inf, np.float32)
        self._positions = np.empty(self._scores.shape, np.int32)
        self._write(rows, places(rows), positions, scores)

    def _write(self, rows: Rows, slots: Rows, positions: Positions, scores: Singles) -> None:
        self._scores[rows, slots] = scores
        self._positions[rows, slots] = positions
        self._counts += np.bincount(rows, minlength=len(self._counts))
