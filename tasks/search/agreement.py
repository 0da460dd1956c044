"""How far the vectors of one encoder agree with another's over the same texts."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.search.scores import cosines as cosines_of

Vectors = npt.NDArray[np.float32]


class Agreement(NamedTuple):
    """The agreement of an encoder with a reference.

    Attributes:
        mean_cosine: Mean cosine of a code's two vectors.
        lowest_cosine: The lowest one.
        overlap: Mean share of a query's ``k`` nearest codes that are the same by both encoders.
        k: The number of nearest codes.
        codes: Number of codes.
        queries: Number of queries.
    """

    mean_cosine: float
    lowest_cosine: float
    overlap: float
    k: int
    codes: int
    queries: int

    def __str__(self) -> str:
        return (
            f"top {self.k} of {self.queries:,} queries over {self.codes:,} codes {self.overlap:.1%}"
            f" the same, cosine {self.mean_cosine:.5f} on average and {self.lowest_cosine:.5f} at "
            "the least"
        )


def agreement(
    reference: tuple[Vectors, Vectors], other: tuple[Vectors, Vectors], k: int = 20
) -> Agreement:
    """Return how far two encoders agree.

    Args:
        reference: (q, d) vectors of queries and (c, d) of codes by one encoder.
        other: (q, e) and (c, e) vectors of the same texts by another; the cosine of a code's
            two vectors is taken where e = d, and is NaN elsewhere.
        k: Nearest codes to compare, at most c.
    """
    (queries, codes), (_, other_codes) = reference, other
    k = min(k, len(codes))
    found, expected = (_nearest(*vectors, k) for vectors in (other, reference))
    same = [len(np.intersect1d(a, b)) for a, b in zip(found, expected, strict=True)]
    of_one_width = codes.shape == other_codes.shape
    cosines = cosines_of(codes, other_codes) if of_one_width else np.full(1, np.nan)
    return Agreement(
        mean_cosine=float(cosines.mean()),
        lowest_cosine=float(cosines.min()),
        overlap=float(np.mean(same)) / k,
        k=k,
        codes=len(codes),
        queries=len(queries),
    )


def _nearest(queries: Vectors, codes: Vectors, k: int) -> npt.NDArray[np.int64]:
    """Return (q, k) positions of each query's nearest codes, in no order."""
    nearest: npt.NDArray[np.int64] = np.argpartition(-(queries @ codes.T), k - 1, axis=1)
    return nearest[:, :k]
