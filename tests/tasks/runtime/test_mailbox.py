"""Laws of the queue between workers and the flow's process, and of who imports Ray."""

import subprocess
import sys
from typing import Literal

import pytest

from infra.ids import CodeId, PairKey, QueryId, RecipeId
from infra.records import Annotation
from tasks.runtime.mailbox import _QueueActor

KEYS = [PairKey(QueryId(f"q{number}"), CodeId("c")) for number in range(4)]


def annotation(key: PairKey, status: Literal["undecided", "failed"] = "undecided") -> Annotation:
    return Annotation(
        query_id=key.query_id, code_id=key.code_id, recipe_id=RecipeId("r"), status=status, path="p"
    )


def test_what_was_put_is_given_away_once_and_in_order() -> None:
    queue = _QueueActor()
    made = [annotation(key) for key in KEYS]
    assert all(queue.put(item) for item in made[:3])
    assert queue.drain() == made[:3]
    queue.put(made[3])
    assert queue.drain() == made[3:]
    assert queue.drain() == []


def test_a_shard_that_is_tried_again_wants_only_what_has_not_come_in_finished() -> None:
    queue = _QueueActor()
    queue.put(annotation(KEYS[0]))
    queue.put(annotation(KEYS[1], "failed"))
    queue.drain()
    assert queue.wanted(KEYS[:3]) == {KEYS[1], KEYS[2]}
    assert queue.wanted([]) == set()


def test_what_is_forgotten_is_held_no_longer() -> None:
    queue = _QueueActor()
    for key in KEYS:
        queue.put(annotation(key))
    queue.discard(KEYS[:3])
    assert queue._finished == {KEYS[3]}


def test_a_closed_queue_wants_nothing_and_still_takes_what_is_in_flight() -> None:
    queue = _QueueActor()
    queue.close()
    assert queue.wanted(KEYS) == set()
    assert queue.put(annotation(KEYS[0])) is False
    assert queue.drain() == [annotation(KEYS[0])]


@pytest.mark.parametrize("module", ["flows.annotate", "flows.cli.main", "flows.compare_annotators"])
def test_ray_is_imported_only_where_there_is_work(module: str) -> None:
    # prefect-ray puts a lazy stand-in named 'ray' there, which imports nothing until it is used
    script = f"import sys, {module}; sys.exit('ray._raylet' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
