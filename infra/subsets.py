"""Parts of a set of items: random samples that can be drawn again, and batches."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from infra.identity import mark

Item = TypeVar("Item")


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


def batched(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Return the items in consecutive batches of ``size``, the last of which may be smaller."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def cut_by_length(lengths: Sequence[int], most_rows: int, most_length: int) -> Iterator[list[int]]:
    """Yield rows in batches of similar length, the longest rows first.

    Args:
        lengths: The length of each row.
        most_rows: Rows in a batch; 0 for no limit.
        most_length: Length of a batch once its rows are padded; a longer row is a batch of its own.
    """
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        padded = (len(batch) + 1) * lengths[batch[0] if batch else row]
        if batch and (padded > most_length or len(batch) == most_rows):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
