"""Retrieval methods, one file each; those here are lexical.

To add a method, write a file with a class that has ``rank`` and decorate it with
``@retrievers.register("name")``, the name being that of the file with dashes for underscores;
``bag_of_words.py`` is the shortest example. `_words.Words` has the words of queries and codes,
their counts, and a ranking by sums of weights. `tests/tasks/retrievers/test_conformance.py` tests
it from then on; ``cosqa leaderboard --method`` takes it. Every encoder is a method too, by
`tasks.ranking.methods`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from infra.records import Code, Query
from infra.registry import Registry

if TYPE_CHECKING:  # the names of the methods are asked for by `--help`, which needs no pyarrow
    from tasks.benchmarks.runs import Rankings


class Retriever(Protocol):
    """A method that ranks codes for queries.

    A class may state its ``revision``, to be changed when the same texts are ranked differently:
    scores that are stored for another revision are computed again.
    """

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> "Rankings":
        """Return the ``depth`` best codes for each query, ties by code id in ascending order.

        A code stands once, with a finite score; scores fall, and mean what the method means. Where
        a method finds no more, as one by words that the other codes lack, its ranking ends early
        (`NOTHING`, score 0). One by meaning ranks ``depth`` codes, or all where there are fewer.

        The result does not depend on the order of ``queries`` or ``codes``.
        """
        ...


retrievers: Registry[type[Retriever]] = Registry("retrieval method", "tasks.retrievers")
