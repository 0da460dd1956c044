"""Approximate search by an index of FAISS, built in memory and measured against exact search.

It puts the codes into lists by the nearest of their centres (Jégou, Douze and Schmid 2011, TPAMI
33, 1), and keeps two bytes a dimension. The codes found are scored again by the vectors themselves,
so that only codes can be missing: their ranks and scores are right.
"""

from collections.abc import Mapping

import faiss
import numpy as np

from infra.errors import SettingsError
from tasks.search.exact import Hits, ranked, search
from tasks.search.scores import Codes, Floats, Singles, score_pairs

_TRAINED = 40  # vectors for each list, of which FAISS wants 39
_FOUND = 2  # times k: found, then scored again


class ApproximateSearch:
    """An index of all codes, by the mean of the encoders' scores.

    Args:
        codes: The vectors of the codes.
        number: How many codes there are, at least 1.
        encoders: The encoders, each of which has a vector of each code.
        probes: Lists that are read for each query, of twice the square root of ``number``.
    """

    def __init__(self, codes: Codes, number: int, encoders: tuple[str, ...], probes: int) -> None:
        self._codes = codes
        self._number = number
        self._encoders = encoders
        self._probes = probes
        self._lists = max(1, min(round(2 * number**0.5), number // _TRAINED))
        sample = self._sample(_TRAINED * self._lists)
        name = f"IVF{self._lists},SQfp16"
        self._index = faiss.index_factory(sample.shape[1], name, faiss.METRIC_INNER_PRODUCT)
        faiss.ParameterSpace().set_index_parameter(self._index, "nprobe", probes)
        self._index.train(sample)
        positions = []  # of the codes, in the order they came in
        for some, vectors in codes():
            self._index.add(_joined({name: vectors[name] for name in encoders}))
            positions.append(some)
        self._positions = np.concatenate(positions)

    def search(self, queries: Mapping[str, Floats], k: int) -> Hits:
        """Return for each query the k best codes that the index finds.

        Args:
            queries: Encoder → (n, d) unit vectors.
            k: At least 1.

        Raises:
            SettingsError: It finds too few for a query.
        """
        k = min(k, self._number)
        named = {name: queries[name] for name in self._encoders}
        _, found = self._index.search(_joined(named), min(_FOUND * k, self._number))
        rows, slots = np.nonzero(found >= 0)
        if len(found) and np.bincount(rows, minlength=len(found)).min() < k:
            raise SettingsError(
                f"the index ivf finds fewer than {k} codes for a query: raise search.ivf_probes "
                f"({self._probes}), or search exactly (search.index = exact)"
            )
        positions = self._positions[found]
        scores = score_pairs(named, self._codes, rows, positions[rows, slots])
        return ranked(positions, (rows, slots), scores, scores.mean(axis=1), k)

    def recall(self, queries: Mapping[str, Floats], k: int) -> float:
        """Return the mean share of the exact k best that the index finds.

        Args:
            queries: Encoder → (n, d) unit vectors of a sample of queries, at least one.
            k: At least 1.
        """
        exact = search(queries, self._codes, k).positions
        found = self.search(queries, k).positions
        shares = [len(np.intersect1d(one, other)) for one, other in zip(exact, found, strict=True)]
        return float(np.mean(shares) / exact.shape[1])

    def _sample(self, wanted: int) -> Singles:
        """Return vectors for the training, evenly spread over the codes."""
        spread = np.linspace(0, self._number - 1, min(self._number, wanted))
        chosen = np.unique(spread.astype(np.int32))
        parts = []
        for some, vectors in self._codes(chosen):
            is_chosen = np.isin(some, chosen)
            parts.append(_joined({name: vectors[name][is_chosen] for name in self._encoders}))
        return np.concatenate(parts)


def _joined(vectors: Mapping[str, Floats]) -> Singles:
    """Return the encoders' vectors side by side."""
    return np.hstack(list(vectors.values())).astype(np.float32, copy=False)
