"""Batches of items."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


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
