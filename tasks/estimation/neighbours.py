"""How many of its k neighbours KAPE uses."""

from collections.abc import Callable, Iterable, Iterator

from infra.records import Record
from tasks.estimators.kape import Kept, kept_neighbours
from tasks.statistics import Values

MOST_NEIGHBOURS = 10  # the greatest k of the paper's tables


class NeighboursUsed(Record):
    """Neighbours that KAPE keeps of k: the fewest of a query, and the mean (Table 6)."""

    k: int
    minimum: int
    mean: float


def neighbours_used(
    nearest: Values, ks: Iterable[int], kept: Callable[[Values], Kept] = kept_neighbours
) -> Iterator[NeighboursUsed]:
    """Yield how many neighbours are used with each k.

    Args:
        nearest: (queries, neighbours) similarities, falling; as many as the greatest k.
        ks: Numbers of neighbours.
        kept: Which of a row's neighbours are used.
    """
    for k in ks:
        used = kept(nearest[:, :k]).sum(axis=1)
        yield NeighboursUsed(k=k, minimum=int(used.min()), mean=float(used.mean()))
