"""Batches of items."""

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def batched(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Return the items in consecutive batches of ``size``, the last of which may be smaller."""
    return [items[start : start + size] for start in range(0, len(items), size)]
