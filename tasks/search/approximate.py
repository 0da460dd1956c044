"""Approximate search by an index of FAISS, built in memory and measured before it is believed.

It puts the codes into lists by the nearest of their centres (Jégou, Douze and Schmid 2011, TPAMI
33, 1), and keeps two bytes a dimension. What it finds is scored again by the vectors themselves, so
that only codes can be missing: ranks and cosines of those found are right.
"""

from collections.abc import Mapping

import faiss
import numpy as np
import numpy.typing as npt

from infra.errors import SettingsError
from tasks.search.exact import Hits, ranked, search
from tasks.search.scores import Codes, Floats, Positions, Rows, Singles, score_pairs

Marks = npt.NDArray[np.bool_]

_TRAINED = 40  # vectors for each list, of which FAISS wants 39
_SPARE = 2  # times k: found, then scored again


class ApproximateSearch:
    """An index of all codes, by the mean of the encoders' cosines.

    Args:
        codes: The vectors of the codes.
        number: How many codes there are, at least 1.
        encoders: The encoders, each of which has a vector of each code.
        lists: Lists of the index; 0 is twice the square root of the number of codes.
        probes: Lists that are read for each query.
    """

    def __init__(
        self, codes: Codes, number: int, encoders: tuple[str, ...], *, lists: int, probes: int
    ) -> None:
        self._codes = codes
        self._number = number
        self._encoders = encoders
        lists = lists or round(2 * number**0.5)
        self._lists = max(1, min(lists, number // _TRAINED))
        self._probes = probes
        self._index, self._positions = self._build()

    def search(self, queries: Mapping[str, Floats], k: int) -> Hits:
        """Return for each query the k best codes that the index finds.

        Queries of which it finds too few are searched exactly.

        Args:
            queries: Encoder → (n, d) unit vectors.
            k: At least 1.
        """
        k = min(k, self._number)
        named = {name: queries[name] for name in self._encoders}
        _, found = self._index.search(_joined(named), min(_SPARE * k, self._number))
        full = np.count_nonzero(found >= 0, axis=1) >= k
        shape = len(found), k
        hits = Hits(
            np.empty(shape, np.int32), np.empty((*shape, len(named))), np.empty(shape)
        )  # fmt: skip
        _put(hits, full, self._scored(_some(named, full), found[full], k))
        if not full.all():
            _put(hits, ~full, search(_some(named, ~full), self._codes, k))
        return hits

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

    def _build(self) -> tuple[faiss.Index, Positions]:
        """Return the index with all codes, and the position of each in the order they came in."""
        sample = self._sample(_TRAINED * self._lists)
        name = f"IVF{self._lists},SQfp16"
        index = faiss.index_factory(sample.shape[1], name, faiss.METRIC_INNER_PRODUCT)
        faiss.ParameterSpace().set_index_parameter(index, "nprobe", self._probes)
        index.train(sample)
        positions = []
        for some, vectors in self._codes():
            index.add(_joined({name: vectors[name] for name in self._encoders}))
            positions.append(some)
        return index, np.concatenate(positions)

    def _sample(self, wanted: int) -> Singles:
        """Return vectors for the training, evenly spread over the codes."""
        spread = np.linspace(0, self._number - 1, min(self._number, wanted))
        chosen = np.unique(spread.astype(np.int32))
        parts = [
            _joined(_some({name: vectors[name] for name in self._encoders}, np.isin(some, chosen)))
            for some, vectors in self._codes(chosen)
        ]
        return np.concatenate(parts)

    def _scored(self, queries: Mapping[str, Floats], found: Rows, k: int) -> Hits:
        """Return the k best of what was found, by exact scores."""
        rows, slots = np.nonzero(found >= 0)
        positions = self._positions[found]
        scores = score_pairs(queries, self._codes, rows, positions[rows, slots])
        return ranked(positions, (rows, slots), scores, scores.mean(axis=1), k)


def check_recall(recall: float, least: float, probes: int, k: int) -> None:
    """Refuse an index that finds too few of the exact best.

    Args:
        recall: Share that it finds.
        least: Share that is asked for.
        probes: Lists that are read for each query.
        k: Codes for each query.

    Raises:
        SettingsError: The share is lower; the message says what to raise.
    """
    if recall < least:
        raise SettingsError(
            f"search.index = ivf finds {recall:.1%} of the exact top {k}, and search.min_recall "
            f"asks for {least:.1%}: raise search.ivf_probes ({probes}), or search exactly "
            "(search.index = exact)"
        )


def _joined(vectors: Mapping[str, Floats]) -> Singles:
    """Return the encoders' vectors side by side."""
    return np.hstack(list(vectors.values())).astype(np.float32, copy=False)


def _some(vectors: Mapping[str, Floats], rows: Marks) -> dict[str, Floats]:
    return {name: each[rows] for name, each in vectors.items()}


def _put(hits: Hits, rows: Marks, found: Hits) -> None:
    hits.positions[rows], hits.cosines[rows] = found.positions, found.cosines
    hits.similarities[rows] = found.similarities
