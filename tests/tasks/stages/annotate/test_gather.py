"""Laws of a run's gathering: where workers must be, and what ends it or does not.

Covers `tasks.stages.preflight` and `flows.annotate` where they serve it.
"""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from flows import annotate
from infra.budget import Budget
from infra.errors import (
    BudgetExhaustedError,
    ModelUnavailableError,
    SettingsError,
    StoreLockedError,
)
from infra.ids import RecipeId
from infra.records import Annotation, Code, Pair, Query
from infra.settings import Settings, StoreSettings
from infra.store import Database, annotations, open_database
from tasks.runtime.pair_queue import PairQueue
from tasks.runtime.ray_queue import Returned
from tasks.stages.annotate import gather
from tasks.stages.annotate.gather import Gathering, _mark_in
from tasks.stages.annotate.judge import judge
from tasks.stages.annotate.sinks import AnnotationWriter
from tasks.stages.preflight import check_comparison
from tests.tasks.stages.annotate.test_judge import RECIPE

PAIRS = [
    Pair(query=Query.of(f"question {number}"), code=Code.of(f"def f():\n    return {number}"))
    for number in range(12)
]
Work = Callable[[int, "Queue"], int]


class Queue(PairQueue):
    """The queue in this process, which remembers whether it was closed."""

    def offer(self, items: Any, *, is_last: bool) -> Any:
        """Take pairs, hand on annotations."""
        arrived = super().offer(((pair.key, pair) for pair in items), is_last=is_last)
        annotations = [cast("Annotation", item) for _, item in arrived.items]
        return Returned(annotations, arrived.waiting, arrived.judging, arrived.told)

    @property
    def is_closed(self) -> bool:
        """Whether no more pairs are handed out."""
        return not self._is_open


def judged(queue: Queue, number: int) -> int:
    """Judge what a judge is handed."""
    handed = queue.exchange(number, [], wants=True).items
    labelled: list[Any] = [
        (
            pair.key,
            Annotation(
                query_id=pair.key.query_id, code_id=pair.key.code_id, recipe_id=RecipeId("r"),
                status="labelled", label=1, path="read_alone",
            ),
        )
        for _, pair in cast("Any", handed)
    ]  # fmt: skip
    queue.exchange(number, labelled, wants=False)
    return 0


class Run:
    """A gathering whose judges are functions, each called once it is looked at."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, work: Work) -> None:
        self.database: Database = open_database(StoreSettings(folder=folder))
        annotations.record_pairs(self.database, PAIRS)
        self.queue = Queue(in_flight=4)
        self.judges = 0
        self.dismissed: list[Any] = []
        self.watch: Any = SimpleNamespace(
            alarm=None, begin=lambda: None, add=lambda arrived: None, turn=lambda *_: None,
            close=lambda error: None,
        )  # fmt: skip
        self.without_room: set[int] = set()  # judges that are never started
        self._work = work
        self.numbers: dict[Any, int] = {}
        monkeypatch.setattr(
            gather, "ended_futures", lambda futures, _: self._startable(futures)[:1]
        )
        monkeypatch.setattr(gather, "end_futures", self.dismissed.extend)
        monkeypatch.setattr(gather, "judge_result", lambda future: future())

    def _submit(self, number: int) -> Any:
        self.judges += 1

        def work() -> int:
            self.queue.join(number)
            return self._work(number, self.queue)

        self.numbers[work] = number
        return work

    def _startable(self, futures: list[Any]) -> list[Any]:
        return [one for one in futures if self.numbers[one] not in self.without_room]

    def gather(self, pairs: Iterator[Pair], judges: int = 2, patience_s: float = 60.0) -> int:
        """Judge pairs; return how many failed."""
        queue: Any = self.queue
        gathering = Gathering(pairs, queue, self._submit, self.watch, patience_s)
        return gathering.run(AnnotationWriter(self.database), judges, queue_length=4)

    def stored(self) -> int:
        """Return the number of stored annotations."""
        return len(annotations.finished_pairs(self.database, RecipeId("r")))


def test_workers_get_the_store_s_folder_as_an_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings(store=StoreSettings(folder=Path("here")))
    ready = check_comparison(settings, [])
    assert ready.settings.store.folder == tmp_path / "here"
    assert ready.database.settings.folder == tmp_path / "here"


def test_the_marks_of_runs_that_were_killed_go_with_the_next_run(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path))
    (tmp_path / ".judges-killed").touch()
    with _mark_in(database) as mark:
        assert list(tmp_path.glob(".judges-*")) == [mark]
    assert list(tmp_path.glob(".judges-*")) == []


def test_a_judge_that_does_not_see_the_store_s_folder_says_where_it_is_and_what_to_do(
    tmp_path: Path,
) -> None:
    (tmp_path / "elsewhere").mkdir()
    queue = cast("Any", None)  # no pair is asked for
    with _mark_in(Database(StoreSettings(folder=tmp_path), "made up")) as mark:
        assert mark.parent == tmp_path
        of_others = tmp_path / "elsewhere" / mark.name  # the same path on a disk of its own
        with pytest.raises(SettingsError, match=r"does not see the store.*elsewhere.*one path"):
            judge.fn(0, Settings(), RECIPE, Budget(), queue, of_others)
        with pytest.raises(AttributeError, match="as_judge"):
            judge.fn(0, Settings(), RECIPE, Budget(), queue, mark)
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]


def test_a_store_that_cannot_be_read_ends_the_run_after_the_pairs_in_flight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked_in_the_midst() -> Iterator[Pair]:
        yield from PAIRS[:4]
        raise StoreLockedError("held")

    run = Run(tmp_path, monkeypatch, lambda number, queue: judged(queue, number))
    with pytest.raises(StoreLockedError, match="held"):
        run.gather(locked_in_the_midst(), judges=1)
    assert run.queue.is_closed
    assert run.stored() == 4, "what had arrived is stored"


def test_a_ledger_that_cannot_be_read_ends_the_run_after_the_pairs_in_flight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, monkeypatch, lambda number, queue: judged(queue, number))

    def look(waiting: int, held: int) -> None:
        if run.judges > 1:
            raise BudgetExhaustedError("the ledger cannot be written")

    run.watch.turn = look
    with pytest.raises(BudgetExhaustedError, match="the ledger cannot be written"):
        run.gather(iter(PAIRS), judges=1)
    assert run.queue.is_closed
    assert run.stored() > 0, "what had arrived is stored"


def test_a_run_waits_long_for_a_store_that_another_command_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []
    monkeypatch.setattr(
        annotate,
        "annotate_pairs",
        lambda plan, settings, wait_for: seen.append(settings.store.lock_timeout_s),
    )
    plan: Any = None
    for timeout_s in (0.0, 5_000.0):
        store = StoreSettings(folder=tmp_path, lock_timeout_s=timeout_s)
        annotate._judge(plan, Settings(store=store), [])
    assert seen == [600.0, 5_000.0]


def test_judges_are_renewed_after_one_was_lost_and_its_error_comes_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(number: int, queue: Queue) -> int:
        if number == 1:
            queue.exchange(number, [], wants=True)
            raise RuntimeError("lost with its pairs")
        return judged(queue, number)

    run = Run(tmp_path, monkeypatch, work)
    with pytest.raises(RuntimeError, match="lost with its pairs"):
        run.gather(iter(PAIRS))
    assert run.stored() == len(PAIRS)
    assert not run.queue.is_closed


def test_a_fault_that_meets_every_judge_is_not_tried_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(number: int, queue: Queue) -> int:
        raise RuntimeError("always")

    run = Run(tmp_path, monkeypatch, work)
    with pytest.raises(RuntimeError, match="always"):
        run.gather(iter(PAIRS), judges=3)
    assert run.judges == 6


@pytest.mark.parametrize("error", [ModelUnavailableError("down"), SettingsError("no store")])
def test_what_every_judge_would_meet_ends_the_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def work(number: int, queue: Queue) -> int:
        if number == 0:
            raise error
        return judged(queue, number)

    run = Run(tmp_path, monkeypatch, work)
    with pytest.raises(type(error)):
        run.gather(iter(PAIRS))
    assert run.queue.is_closed
    assert run.judges == 2


def test_judges_that_found_no_room_hold_up_no_run_whose_pairs_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, monkeypatch, lambda number, queue: judged(queue, number))
    run.without_room = {1, 2}
    assert run.gather(iter(PAIRS), judges=3) == 0
    assert run.stored() == len(PAIRS)
    assert sorted(run.numbers[one] for one in run.dismissed) == [1, 2]


@pytest.mark.parametrize("error", [BudgetExhaustedError("spent"), SettingsError("no store")])
def test_judges_that_found_no_room_hold_up_no_run_that_ends_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def work(number: int, queue: Queue) -> int:
        raise error

    run = Run(tmp_path, monkeypatch, work)
    run.without_room = {1, 2}
    with pytest.raises(type(error)):
        run.gather(iter(PAIRS), judges=3)
    assert sorted(run.numbers[one] for one in run.dismissed) == [1, 2]


def test_judges_without_room_are_said_to_lack_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import ray  # noqa: PLC0415 - a second, for this test alone

    free = {"CPU": 0.0, "docker": 3.0}
    monkeypatch.setattr(ray, "available_resources", lambda: free)
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 4.0, "docker": 4.0})
    run = Run(tmp_path, monkeypatch, lambda number, queue: judged(queue, number))
    looks: Iterator[list[Any]] = iter([[], [], []])
    monkeypatch.setattr(gather, "ended_futures", lambda futures, _: next(looks, futures[:1]))
    with caplog.at_level(logging.WARNING):
        run.gather(iter(PAIRS), judges=1, patience_s=0.0)
    (said,) = {record.getMessage() for record in caplog.records}
    assert "4 pairs wait for a judge" in said
    assert "1 CPU and 1 docker on one node" in said
    assert "0 CPU and 3 docker are free" in said
    caplog.clear()
    again = Run(tmp_path / "again", monkeypatch, lambda number, queue: judged(queue, number))
    again.gather(iter(PAIRS), judges=1)
    assert caplog.records == [], "not before its patience is over"
