"""Laws of the queue of pairs: whatever becomes of the judges, each pair arrives once.

Covers `tasks.runtime.ray_queue`, which moves it into a Ray actor.
"""

import random
from collections.abc import Callable
from itertools import islice

import pytest

from infra.ids import CodeId, PairKey, QueryId
from tasks.runtime.pair_queue import Handed, Item, PairQueue


def items(number: int) -> list[Item]:
    return [(PairKey(QueryId(str(place)), CodeId("c")), place) for place in range(number)]


def take(queue: PairQueue, judge: int, finished: list[Item], wants: bool = True) -> list[Item]:
    return list(queue.exchange(judge, finished, wants=wants).items)


class Judge:
    """A judge as `tasks.stages.annotate.desk` is one: starts on its reserve as pairs finish."""

    def __init__(self, queue: PairQueue, number: int) -> None:
        self._queue, self._number, self._places = queue, number, 0
        self.judging: list[Item] = []
        self.reserve: list[Item] = []
        self.finished: list[Item] = []

    def finish(self, chance: random.Random) -> None:
        """Finish some pairs, and start on others."""
        done = chance.sample(self.judging, chance.randint(0, len(self.judging)))
        self.finished += done
        self.judging = [item for item in self.judging if item not in done]
        self._start()

    def ask(self) -> Callable[[], None]:
        """Send what is finished; return what the answer, which may come later, lets it do."""
        finished, self.finished = self.finished, []
        handed = self._queue.exchange(self._number, finished, wants=True)

        def receive() -> None:
            self.reserve += handed.items
            self._places = handed.places
            self._start()

        return receive

    def _start(self) -> None:
        while self.reserve and len(self.judging) < self._places:
            self.judging.append(self.reserve.pop(0))


def test_judges_share_the_places_and_those_of_one_that_wants_no_more_go_to_the_others() -> None:
    queue = PairQueue(in_flight=6)
    queue.offer(items(14), is_last=False)
    queue.join(1)
    handed = queue.exchange(1, [], wants=True)
    assert (list(handed.items), handed.places) == (items(9), 6), "all places, and half as many"
    first = items(9)
    queue.join(2)
    assert queue.exchange(2, [], wants=True) == Handed((), 0, is_ended=False)
    assert queue.exchange(1, first[:3], wants=True) == Handed((), 3, is_ended=False), "its half"
    assert queue.exchange(2, [], wants=True) == Handed((), 0, is_ended=False), "it may not know"
    assert take(queue, 1, first[3:6]) == [], "six pairs were its own and not more: three are left"
    assert take(queue, 2, []) == items(12)[9:], "no reserve, now that few wait"
    assert take(queue, 1, [], wants=False) == []
    assert take(queue, 1, first[6:], wants=False) == []
    assert take(queue, 2, []) == items(14)[12:]
    assert len(queue.offer([], is_last=False).items) == 9


def test_a_judge_that_has_joined_has_its_share_kept_for_it() -> None:
    queue = PairQueue(in_flight=6)
    queue.offer(items(30), is_last=False)
    queue.join(1)
    queue.join(2)
    assert take(queue, 1, []) == items(5)
    assert take(queue, 2, []) == items(10)[5:]
    assert queue.offer([], is_last=False) == ([], 24, 6, []), "a reserve still waits"


def test_what_a_judge_held_when_it_started_again_comes_first_and_its_late_annotations_not() -> None:
    queue = PairQueue(in_flight=3)
    queue.offer(items(5), is_last=True)
    queue.join(1)
    held = take(queue, 1, [])
    queue.join(1)
    again = take(queue, 1, held[:1])
    assert again == held
    assert queue.offer([], is_last=True).items == []
    take(queue, 1, again, wants=False)
    assert queue.offer([], is_last=True) == (again, 0, 0, [])
    queue.leave(1)
    assert queue.exchange(1, held, wants=True) == Handed((), 0, is_ended=True), "given up"


def test_a_closed_queue_hands_out_nothing_and_takes_what_is_in_flight() -> None:
    queue = PairQueue(in_flight=2)
    queue.offer(items(5), is_last=False)
    queue.join(1)
    held = take(queue, 1, [])
    queue.close()
    assert queue.exchange(1, held[:2], wants=True) == Handed((), 0, is_ended=True)
    assert queue.offer([], is_last=False) == (held[:2], 2, 1, []), "it may have begun the third"
    queue.leave(1)
    assert queue.offer([], is_last=False).waiting == 3, "its reserve among them"


@pytest.mark.parametrize("seed", range(20))
def test_judges_that_die_and_return_at_any_moment_lose_and_double_nothing(seed: int) -> None:
    chance = random.Random(seed)
    in_flight, number = chance.randint(1, 12), 200
    queue = PairQueue(in_flight)
    source = iter(items(number))
    judges: dict[int, Judge] = {}
    answers: dict[int, Callable[[], None]] = {}
    arrived: list[Item] = []
    while len(arrived) < number:
        offered = list(islice(source, chance.randint(0, 9)))
        arrived += queue.offer(offered, is_last=False).items
        judge, event = chance.randrange(4), chance.random()
        if judge not in judges or event < 0.1:
            queue.join(judge)
            late = judges.pop(judge).finished if judge in judges and event < 0.05 else []
            judges[judge] = Judge(queue, judge)
            judges[judge].finished = late  # the former sends once more
            answers.pop(judge, None)
        elif event < 0.15:
            queue.leave(judge)
            del judges[judge]
            answers.pop(judge, None)
        elif event < 0.6:
            judges[judge].finish(chance)
        elif judge in answers:
            answers.pop(judge)()
        else:
            answers[judge] = judges[judge].ask()
        assert sum(len(one.judging) for one in judges.values()) <= in_flight
    assert sorted(arrived, key=lambda item: int(str(item[1]))) == items(number)
