"""The queue of pairs between a flow and the judges that work on them, without any transport.

`tasks.runtime.ray_queue` runs it as a Ray actor.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from infra.ids import PairKey
from infra.records import Pair

Item = tuple[PairKey, object]
"""A pair's key, and the pair or its annotation in a form that the queue does not look at."""


class Handed(NamedTuple):
    """What a judge is handed.

    Attributes:
        items: Pairs to judge, some of them as a reserve: it starts on those as others finish.
        places: How many pairs it may judge at once from now on.
        is_ended: Whether no more pairs will come.
    """

    items: tuple[Item, ...]
    places: int
    is_ended: bool


class Work(NamedTuple):
    """What a judge receives: `Handed` with its pairs unpacked."""

    pairs: list[Pair]
    places: int
    is_ended: bool


class Arrived(NamedTuple):
    """What a flow receives: annotations since its last call, and how many pairs are left.

    Attributes:
        items: The annotations.
        waiting: Pairs that no judge has started on, reserves included.
        judging: The others.
        told: Why judges have stopped for a while.
    """

    items: list[Item]
    waiting: int
    judging: int
    told: list[str]


@dataclass(slots=True)
class _Hands:
    """What one judge holds.

    Attributes:
        held: Its pairs.
        places: How many of them it may be judging at this moment, at most.
        wants: Whether it wants more.
    """

    held: dict[PairKey, Item] = field(default_factory=dict)
    places: int = 0
    wants: bool = True  # its share stays free for it from the first

    @property
    def judging(self) -> int:
        """How many pairs it may be judging at this moment, at most."""
        return min(self.places, len(self.held))


class PairQueue:
    """Pairs that wait, pairs in the hands of judges, and annotations that have arrived.

    A pair is in one place at a time. One in the hands of a judge that starts again or leaves waits
    again; an annotation counts only where its pair is in the sender's hands. So no pair is lost and
    none arrives twice, whatever becomes of the judges.

    Each judge has its share of the places. As long as many pairs wait it is handed half as many
    more, its reserve, so that no place is empty while it asks for new ones.

    Args:
        in_flight: Pairs that all judges together judge at once.
    """

    def __init__(self, in_flight: int) -> None:
        self._in_flight = in_flight
        self._waiting: deque[Item] = deque()
        self._judges: dict[int, _Hands] = {}
        self._arrived: list[Item] = []
        self._told: list[str] = []
        self._has_all = False
        self._is_open = True

    def offer(self, items: Iterable[Item], *, is_last: bool) -> Arrived:
        """Add pairs, and return what has arrived.

        Args:
            items: The pairs.
            is_last: Whether no more will be offered.
        """
        self._waiting += items
        self._has_all = is_last
        arrived, self._arrived = self._arrived, []
        told, self._told = self._told, []
        held = sum(len(hands.held) for hands in self._judges.values())
        judging = self._number_judging()
        return Arrived(arrived, len(self._waiting) + held - judging, judging, told)

    def join(self, judge: int) -> None:
        """Let a judge take part; what it held when it started before waits again."""
        self.leave(judge)
        self._judges[judge] = _Hands()

    def exchange(self, judge: int, finished: Sequence[Item], *, wants: bool) -> Handed:
        """Take a judge's annotations, and hand it pairs.

        Args:
            judge: The judge.
            finished: What it has finished since its last call.
            wants: Whether it wants more pairs.
        """
        hands = self._judges.get(judge)
        if hands is None:  # it was given up
            return Handed((), 0, is_ended=True)
        held = hands.held
        self._arrived += (item for item in finished if held.pop(item[0], None) is not None)
        hands.wants = wants
        places, number = self._share_of(hands)
        items = [self._waiting.popleft() for _ in range(number)]
        held.update((item[0], item) for item in items)
        is_last = self._has_all and not self._waiting and bool(places or not held)
        is_ended = is_last or not self._is_open
        return Handed(tuple(items), places, is_ended)

    def judges(self) -> frozenset[int]:
        """Return the judges that take part."""
        return frozenset(self._judges)

    def leave(self, judge: int, why: str = "") -> None:
        """Let what a judge holds wait again, before all others, and take no more from it."""
        self._told += [why] if why else []
        hands = self._judges.pop(judge, _Hands())
        self._waiting.extendleft(reversed(hands.held.values()))

    def close(self) -> None:
        """Hand out no more pairs; what is in the judges' hands is still accepted."""
        self._is_open = False

    def _share_of(self, hands: _Hands) -> tuple[int, int]:
        """Set how many pairs a judge may judge at once; return it, and how many to hand to it."""
        wanting = sum(one.wants for one in self._judges.values())
        share = -(-self._in_flight // max(1, wanting))
        free = self._in_flight + hands.judging - self._number_judging()
        places = max(0, min(share, free)) if self._is_open else 0
        if hands.judging > places:  # those are finished first
            hands.places = hands.judging
            return places, 0
        hands.places = places
        if not (self._is_open and hands.wants):
            return places, 0
        reserve = min(-(-places // 2), max(0, len(self._waiting) - self._in_flight))
        return places, min(len(self._waiting), max(0, places + reserve - len(hands.held)))

    def _number_judging(self) -> int:
        return sum(hands.judging for hands in self._judges.values())
