"""The queue of pairs between a flow and the judges that work on them, without any transport.

`tasks.runtime.ray_queue` runs it as a Ray actor.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from infra.ids import PairKey
from infra.records import Pair

Item = tuple[PairKey, object]
"""A pair's key, and the pair or its annotation in a form that the queue does not look at."""


class Limits(NamedTuple):
    """Limits of the model that judges keep instead of the settings'; None leaves it to those."""

    requests_per_minute: int | None = None
    budget_usd: float | None = None


class Handed(NamedTuple):
    """What a judge is handed: pairs to judge, whether no more will come, and the model's limits."""

    items: tuple[Item, ...]
    is_ended: bool
    limits: Limits = Limits()


class Work(NamedTuple):
    """What a judge receives: pairs, whether no more will come, and limits to ask the model in."""

    pairs: list[Pair]
    is_ended: bool
    limits: Limits = Limits()


class Arrived(NamedTuple):
    """What a flow receives: annotations since its last call, and how many pairs wait or are held.

    ``held`` are the pairs in the hands of judges.
    """

    items: list[Item]
    waiting: int
    held: int


class PairQueue:
    """Pairs that wait, pairs in the hands of judges, and annotations that have arrived.

    A pair is in one place at a time. One in the hands of a judge that starts again or leaves waits
    again; an annotation counts only where its pair is in the sender's hands. So no pair is lost and
    none arrives twice, whatever becomes of the judges.

    Args:
        in_flight: Pairs in the hands of all judges together; each has its share of them.
    """

    def __init__(self, in_flight: int) -> None:
        self._in_flight = in_flight
        self._waiting: deque[Item] = deque()
        self._held: dict[int, dict[PairKey, Item]] = {}
        self._wanting: set[int] = set()
        self._arrived: list[Item] = []
        self._has_all = False
        self._is_open = True
        self._is_paused = False
        self._limits = Limits()

    def steer(self, in_flight: int, limits: Limits, *, paused: bool) -> None:
        """Change what holds from now on; pairs in the judges' hands stay there.

        Args:
            in_flight: Pairs in the hands of all judges together.
            limits: What judges are to keep to when they ask the model.
            paused: Whether no pairs are handed out.
        """
        self._in_flight = in_flight
        self._limits = limits
        self._is_paused = paused

    def offer(self, items: Iterable[Item], *, is_last: bool) -> Arrived:
        """Add pairs, and return what has arrived.

        Args:
            items: The pairs.
            is_last: Whether no more will be offered.
        """
        self._waiting += items
        self._has_all = is_last
        arrived, self._arrived = self._arrived, []
        return Arrived(arrived, len(self._waiting), self._number_held())

    def join(self, judge: int) -> None:
        """Let a judge take part; what it held when it started before waits again."""
        self.leave(judge)
        self._held[judge] = {}
        self._wanting.add(judge)  # its share stays free for it

    def exchange(self, judge: int, finished: Sequence[Item], *, wants: bool) -> Handed:
        """Take a judge's annotations, and hand it pairs.

        Args:
            judge: The judge.
            finished: What it has finished since its last call.
            wants: Whether it wants more pairs.
        """
        held = self._held.get(judge)
        if held is None:  # it was given up
            return Handed((), is_ended=True)
        self._arrived += (item for item in finished if held.pop(item[0], None) is not None)
        (self._wanting.add if wants else self._wanting.discard)(judge)
        items: list[Item] = []
        if wants and self._is_open and not self._is_paused:
            items = [self._waiting.popleft() for _ in range(self._free_places(len(held)))]
            held.update((item[0], item) for item in items)
        is_ended = not self._is_open or (self._has_all and not self._waiting)
        return Handed(tuple(items), is_ended, self._limits)

    def judges(self) -> int:
        """Return how many judges take part."""
        return len(self._held)

    def leave(self, judge: int) -> None:
        """Let what a judge holds wait again, before all others, and take no more from it."""
        self._wanting.discard(judge)
        self._waiting.extendleft(reversed(self._held.pop(judge, {}).values()))

    def close(self) -> None:
        """Hand out no more pairs; what is in the judges' hands is still accepted."""
        self._is_open = False

    def _free_places(self, held: int) -> int:
        """Return how many pairs a judge that holds so many may be handed."""
        share = -(-self._in_flight // max(1, len(self._wanting)))
        free = self._in_flight - self._number_held()
        return max(0, min(share - held, free, len(self._waiting)))

    def _number_held(self) -> int:
        return sum(map(len, self._held.values()))
