"""The estimator pace: labels prototypes of clusters of queries, and diverse queries outside them.

Source: Chen et al., "Practical Accuracy Estimation for Efficient Deep Neural Network Testing",
TOSEM 2020, and its published program (github.com/pace2019/pace); KAPE, RQ1.
"""

from collections.abc import Iterator
from itertools import islice
from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tasks.estimators import Estimate, EstimationData, estimators
from tasks.statistics import Values

Rows = npt.NDArray[np.int64]

_NOISE = -1
_CELLS_AT_ONCE = 4_000_000  # of the kernel's matrix: 32 MB


@estimators.register("pace")
class PACE:
    """Labels prototypes of each cluster of queries, and diverse queries outside the clusters.

    From PACE's program: features between 0 and 1 (here those of KAPE, the queries' probabilities),
    HDBSCAN with ``min_cluster_size`` 80 and ``min_samples`` 4, four fifths of the budget for the
    clusters, of which each gets its rounded share and at least one, MMD-critic's kernel with gamma
    .026, and for the queries outside the clusters the one that is farthest from those chosen there.

    It differs where KAPE's setting or scikit-learn does not allow the same: PACE's optional
    reduction of the features by FastICA, which depends on chance, is left out, since ten features
    need none; PACE misses the budget by its rounding, here it is met exactly; PACE begins outside
    the clusters with the highest outlier score (GLOSH), which scikit-learn does not have, here with
    the query that is farthest from its fourth neighbour. PACE's program takes the last query that
    is no duplicate for the farthest; here it is the farthest, as in the paper.

    An object keeps the clusters of the data that it saw, so that one object serves all budgets.
    """

    uses_labels: ClassVar[bool] = True
    is_stable: ClassVar[bool] = True

    min_cluster_size = 80
    neighbours = 4
    clustered_share = 0.8
    gamma = 0.026

    def __init__(self) -> None:
        self._seen: WeakKeyDictionary[EstimationData, tuple[list[_Order], _Order]] = (
            WeakKeyDictionary()
        )

    def estimate(
        self,
        data: EstimationData,
        *,
        budget: int,
        seed: int,  # noqa: ARG002 - nothing is left to chance
    ) -> Estimate:
        """Return the ranks of ``budget`` queries, chosen from the clusters and outside them."""
        if data not in self._seen:
            self._seen[data] = self._orders(scaled(data.probabilities))
        clusters, noise = self._seen[data]
        total, outside = len(data.queries), len(noise)
        size = min(budget, total)
        inside = min(max(round(self.clustered_share * size), size - outside), total - outside)
        seats = apportion([len(cluster) for cluster in clusters], inside)
        chosen = noise.first(size - inside)
        for cluster, count in zip(clusters, seats, strict=True):
            chosen += cluster.first(count)
        return Estimate.of(data.label(np.sort(chosen)))

    def _orders(self, features: Values) -> tuple[list["_Order"], "_Order"]:
        """Return the order of choice in each cluster, and of the queries outside them."""
        labels = self._labels(features)
        groups = [np.flatnonzero(labels == label) for label in range(labels.max() + 1)]
        clusters = [_Order(rows, prototypes(features[rows], self.gamma)) for rows in groups]
        rows = np.flatnonzero(labels == _NOISE)
        sparse = core_distances(features[rows], features, self.neighbours)
        return clusters, _Order(rows, diverse(features[rows], sparse))

    def _labels(self, features: Values) -> Rows:
        """Return the cluster of each query, -1 outside all."""
        from sklearn.cluster import HDBSCAN  # noqa: PLC0415 - takes a second

        if len(features) <= self.neighbours:
            return np.full(len(features), _NOISE)
        # scikit-learn counts the query itself among the samples, PACE's hdbscan does not.
        found = HDBSCAN(
            min_cluster_size=self.min_cluster_size, min_samples=self.neighbours + 1, copy=True
        ).fit(features)
        labels: Rows = found.labels_.astype(np.int64)
        return labels


class _Order:
    """Rows of the queries of one group in their order of choice, found as far as asked for."""

    def __init__(self, rows: Rows, places: Iterator[int]) -> None:
        self._rows = rows
        self._places = places
        self._found: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    def first(self, count: int) -> list[int]:
        """Return the first rows."""
        missing = max(0, count - len(self._found))
        self._found += [int(self._rows[place]) for place in islice(self._places, missing)]
        return self._found[:count]


def scaled(features: Values) -> Values:
    """Return (n, d) features from 0 to 1; one that is the same everywhere is 0."""
    low = features.min(axis=0)
    widths = features.max(axis=0) - low
    result: Values = (features - low) / np.where(widths == 0, 1, widths)
    return result


def core_distances(some: Values, features: Values, neighbours: int) -> Values:
    """Return the distance of some rows to their n-th nearest other, to the last where fewer."""
    from sklearn.neighbors import KDTree  # noqa: PLC0415 - takes a second

    if not len(some):
        return np.empty(0)
    count = min(neighbours + 1, len(features))
    distances: Values = KDTree(features).query(some, count)[0][:, -1]
    return distances


def diverse(features: Values, sparse: Values) -> Iterator[int]:
    """Yield all rows: the one with the highest ``sparse``, then the farthest from those yielded."""
    distances = sparse.copy()
    for taken in range(len(features)):
        chosen = int(np.argmax(distances))
        yield chosen
        away = features - features[chosen]
        squares = np.einsum("ij,ij->i", away, away)
        distances = np.minimum(distances, squares) if taken else squares
        distances[chosen] = -1


def apportion(sizes: list[int], seats: int) -> list[int]:
    """Return each group's seats: in proportion to its size, at least 1 where they last.

    The rounding of PACE, with the divisor for which the sum is met (Webster's method).

    Args:
        sizes: Of the groups.
        seats: At most the sum of the sizes.
    """
    if not sizes:
        return []
    groups = np.repeat(np.arange(len(sizes)), sizes)
    places = np.concatenate([np.arange(size) for size in sizes])
    order = np.lexsort((groups, -np.array(sizes)[groups] / (places + 0.5), places > 0))
    counts: list[int] = np.bincount(groups[order[:seats]], minlength=len(sizes)).tolist()
    return counts


def prototypes(features: Values, gamma: float) -> Iterator[int]:
    """Yield all rows in the order in which MMD-critic takes them as prototypes.

    Source: Kim, Khanna and Koyejo, "Examples are not Enough, Learn to Criticize! Criticism for
    Interpretability", NeurIPS 2016, section 3.1 and algorithm 1.

    Each next prototype c makes the objective J(S) of the prototypes S as high as can be, where
    J(S) = 2 / (n |S|) Σᵢ Σ_s k(xᵢ, x_s) - 1 / |S|² Σ_s Σ_t k(x_s, x_t): it has the highest
    2/n Σᵢ k(xᵢ, x_c) - (2 Σ_s k(x_s, x_c) + k(x_c, x_c)) / (|S| + 1). Of equals the first is taken.
    The first prototype takes n² evaluations of the kernel, each further one n; memory is O(n).

    Args:
        features: (n, d)
        gamma: Of the kernel k(x, y) = exp(-gamma ‖x - y‖²).
    """
    gain = 2 / len(features) * _column_sums(features, gamma)
    near = np.ones(len(features))  # 2 Σ_s k(x_s, x) + k(x, x)
    left = np.zeros(len(features))
    for taken in range(len(features)):
        chosen = int(np.argmax(gain - near / (taken + 1) + left))
        left[chosen] = -np.inf
        yield chosen
        near += 2 * _kernel(features[chosen : chosen + 1], features, gamma)[0]


def _column_sums(features: Values, gamma: float) -> Values:
    """Return (n,) Σᵢ k(xᵢ, x), from blocks of one half of the symmetric matrix."""
    step = max(1, _CELLS_AT_ONCE // len(features))
    sums = np.zeros(len(features))
    for start in range(0, len(features), step):
        stop = start + step
        block = _kernel(features[start:stop], features[start:], gamma)
        sums[start:] += block.sum(axis=0)
        sums[start:stop] += block[:, step:].sum(axis=1)
    return sums


def _kernel(left: Values, right: Values, gamma: float) -> Values:
    """Return (l, r) values of the Gaussian kernel."""
    distances: Values = left @ right.T
    distances *= -2
    distances += np.square(left).sum(axis=1)[:, None]
    distances += np.square(right).sum(axis=1)
    distances *= -gamma
    values: Values = np.exp(distances, out=distances)
    return values
