"""Laws of the queue of pairs: whatever becomes of the judges, each pair arrives once.

Covers `tasks.runtime.ray_queue`, which moves it into a Ray actor.
"""

import random
from itertools import islice

import pytest

from infra.ids import CodeId, PairKey, QueryId
from tasks.runtime.pair_queue import Handed, Item, Limits, PairQueue


def items(number: int) -> list[Item]:
    return [(PairKey(QueryId(str(place)), CodeId("c")), place) for place in range(number)]


def take(queue: PairQueue, judge: int, finished: list[Item], wants: bool = True) -> list[Item]:
    return list(queue.exchange(judge, finished, wants=wants).items)


def test_judges_share_the_places_and_those_of_one_that_wants_no_more_go_to_the_others() -> None:
    queue = PairQueue(in_flight=6)
    queue.offer(items(30), is_last=False)
    queue.join(1)
    first = take(queue, 1, [])
    assert first == items(6), "all places, in order, while it is alone"
    queue.join(2)
    assert take(queue, 2, []) == []
    assert take(queue, 1, first[:4]) == items(7)[6:], "not above its half, nor both above all"
    assert take(queue, 2, []) == items(10)[7:]
    assert take(queue, 1, [], wants=False) == []
    assert take(queue, 1, first[4:], wants=False) == []
    assert len(take(queue, 2, [])) == 2
    assert len(queue.offer([], is_last=False).items) == 6


def test_a_judge_that_has_joined_has_its_share_kept_for_it() -> None:
    queue = PairQueue(in_flight=6)
    queue.offer(items(30), is_last=False)
    queue.join(1)
    queue.join(2)
    assert take(queue, 1, []) == items(3)
    assert take(queue, 2, []) == items(6)[3:]


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
    assert queue.offer([], is_last=True) == (again, 2, 0)
    queue.leave(1)
    assert queue.exchange(1, held, wants=True) == Handed((), is_ended=True), "given up"


def test_a_closed_queue_hands_out_nothing_and_takes_what_is_in_flight() -> None:
    queue = PairQueue(in_flight=2)
    queue.offer(items(5), is_last=False)
    queue.join(1)
    held = take(queue, 1, [])
    queue.close()
    assert queue.exchange(1, held, wants=True) == Handed((), is_ended=True)
    assert queue.offer([], is_last=False).items == held


def test_a_paused_queue_hands_out_nothing_and_ends_nothing_until_it_goes_on() -> None:
    queue = PairQueue(in_flight=2)
    queue.offer(items(3), is_last=True)
    queue.join(1)
    held = take(queue, 1, [])
    queue.steer(2, Limits(), paused=True)
    assert queue.exchange(1, held, wants=True) == Handed((), is_ended=False)
    assert queue.offer([], is_last=True) == (held, 1, 0)
    queue.steer(2, Limits(), paused=False)
    assert take(queue, 1, []) == items(3)[2:]


def test_places_and_limits_that_are_changed_hold_from_the_next_exchange_on() -> None:
    queue = PairQueue(in_flight=4)
    queue.offer(items(20), is_last=False)
    queue.join(1)
    held = take(queue, 1, [])
    queue.steer(2, Limits(requests_per_minute=30), paused=False)
    handed = queue.exchange(1, held[:1], wants=True)
    assert handed == ((), False, Limits(30)), "those that are held stay, and no more are handed out"
    queue.steer(9, Limits(), paused=False)
    assert len(take(queue, 1, held[1:])) == 9


@pytest.mark.parametrize("seed", range(20))
def test_judges_that_die_and_return_at_any_moment_lose_and_double_nothing(seed: int) -> None:
    chance = random.Random(seed)
    queue, number, most = PairQueue(in_flight=chance.randint(1, 12)), 200, 12
    source = iter(items(number))
    held: dict[int, list[Item]] = {}
    arrived: list[Item] = []
    while len(arrived) < number:
        offered = list(islice(source, chance.randint(0, 9)))
        arrived += queue.offer(offered, is_last=False).items
        judge, event = chance.randrange(4), chance.random()
        if judge not in held or event < 0.1:
            queue.join(judge)
            held[judge] = [] if event < 0.05 else held.get(judge, [])  # the former sends once more
        elif event < 0.15:
            queue.leave(judge)
            del held[judge]
        else:
            done = chance.sample(held[judge], chance.randint(0, len(held[judge])))
            held[judge] = [item for item in held[judge] if item not in done]
            held[judge] += take(queue, judge, done)
        assert sum(map(len, queue._held.values())) <= most
    assert sorted(arrived, key=lambda item: int(str(item[1]))) == items(number)
