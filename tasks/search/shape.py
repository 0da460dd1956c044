"""What an approximate index is like."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Shape:
    """What an index is like.

    Attributes:
        kind: Lists or links.
        lists: Of ``ivf``; 0 is twice the square root of the number of codes.
        probes: Lists that are read for each query.
        links: Of each code in ``hnsw``.
        ef_search: Codes kept in view while searching for a query.
    """

    kind: Literal["ivf", "hnsw"]
    lists: int = 0
    probes: int = 64
    links: int = 32
    ef_search: int = 256

    @property
    def parameters(self) -> tuple[str, ...]:
        """What decides, besides the vectors, which codes are found."""
        if self.kind == "ivf":
            return "ivf", str(self.lists), str(self.probes)
        return "hnsw", str(self.links), str(self.ef_search)
