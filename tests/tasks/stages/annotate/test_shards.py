"""Laws of a round in shards: what goes into one, what ends the round or does not, what is stored.

Covers `tasks.stages.preflight` and `flows.annotate` where they serve it, `tasks.runtime.ray_tasks`.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from flows import annotate
from infra.errors import (
    BudgetExhaustedError,
    DiskFullError,
    GoldQuestionError,
    ModelUnavailableError,
    SettingsError,
    StoreLockedError,
)
from infra.identity import RecipeId
from infra.records import Annotation, Code, Pair, Query
from infra.settings import AnnotationSettings, RaySettings, Settings, StoreSettings
from infra.store import Database, annotations
from tasks.stages.annotate import shards
from tasks.stages.annotate.ledger_actor import Activity
from tasks.stages.annotate.plan import AnnotationRun
from tasks.stages.annotate.shard import Judged, Shard
from tasks.stages.annotate.shards import RoundRunner
from tasks.stages.preflight import check_inputs
from tests.fakes.stores import store_like
from tests.tasks.stages.annotate.test_shard import RECIPE

QUERIES, CODES = 60, 5
PAIRS = [
    Pair(query=Query.of(f"question {number}"), code=Code.of(f"def f():\n    return {code}"))
    for number in range(QUERIES)
    for code in range(CODES)
]
Work = Callable[[Shard], Judged]


def judged(shard: Shard) -> Judged:
    """Judge a shard."""
    return Judged(
        [
            Annotation(
                query_id=pair.key.query_id, code_id=pair.key.code_id, recipe_id=RecipeId("r"),
                status="labelled", label=1, path="read_alone",
            )
            for pair in shard.pairs
        ]
    )  # fmt: skip


def run_by(settings: Settings) -> AnnotationRun:
    """Return a run by settings over no search."""
    search: Any = None
    return AnnotationRun.of(search, RECIPE, settings)


class Tasks:
    """Shards that are judged in this process, one each time that they are looked at."""

    def __init__(self, work: Work) -> None:
        self.submitted: list[Shard] = []
        self.most_at_once = 0
        self.stops: type[BaseException] | None = None
        self._work = work
        self._waiting: list[Shard] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, *, shard: Shard, **_: object) -> UUID:
        self.submitted.append(shard)
        self._waiting.append(shard)
        self.most_at_once = max(self.most_at_once, len(self._waiting))
        return uuid4()

    def ended(self, _: float) -> Iterator[Judged]:
        if self.stops:
            raise self.stops
        yield self._work(self._waiting.pop(0))

    def interrupt(self, _: float) -> Iterator[Judged]:
        yield self._work(self._waiting.pop(0))

    def activity(self) -> Activity:
        return Activity(0, 0, 0.0, "")


class Run:
    """A round whose shards are judged by a function."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, work: Work = judged, cores: int = 2
    ) -> None:
        self.database: Database = store_like(annotations.record_pairs, folder, tuple(PAIRS))
        self.tasks = Tasks(work)
        self.alarm: Exception | None = None
        self.closed = 0
        self.arrived = 0
        self.refresh: Callable[..., object] = lambda *_: None
        monkeypatch.setattr(shards, "_REFRESH_S", 0.0)
        self._cores = cores
        monkeypatch.setattr(shards, "cores", lambda: cores)
        monkeypatch.setattr(shards, "_asked", lambda: {"CPU": 1.0, "docker": 1.0})

    def judge(
        self,
        pairs: Iterator[Pair],
        in_flight: int = 8,
        placement_timeout_s: float = 60.0,
    ) -> None:
        """Judge pairs."""
        plan: Any = SimpleNamespace(collection="c", pairs=len(PAIRS), recipe=RECIPE, budget=None)
        settings = Settings(
            annotation=AnnotationSettings(in_flight=in_flight),
            ray=RaySettings(placement_timeout_s=placement_timeout_s),
        )
        tasks: Any = self.tasks
        monitor: Any = self
        run = run_by(settings)
        RoundRunner(plan, run, tasks, tasks, monitor, self.database).judge(pairs)

    def add(self, arrived: Sequence[Annotation]) -> None:
        self.arrived += len(arrived)

    def close(self) -> None:
        self.closed += 1

    def stored(self) -> int:
        """Return the number of stored annotations."""
        return len(annotations.finished_pairs(self.database, RecipeId("r")))


def test_workers_get_the_store_s_folder_as_an_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings(store=StoreSettings(folder=Path("here")))
    ready = check_inputs(settings, lambda _: None)
    assert ready.settings.store.folder == tmp_path / "here"
    assert ready.database.settings.folder == tmp_path / "here"


@pytest.mark.parametrize(
    ("in_flight", "cores", "sizes", "at_once"),
    [
        (8, 2, [60] * 5, 2),
        (16, 8, [125, 125, 50], 2),
        (32, 2, [125, 85, 45, 30, 15], 4),
        (128, 2, [150, 125, 25], 3),
        (128, 1, [300], 1),
    ],
)
def test_a_query_lies_in_one_shard_the_last_ones_are_small_and_as_many_wait_as_have_room(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    in_flight: int,
    cores: int,
    sizes: list[int],
    at_once: int,
) -> None:
    run = Run(tmp_path, monkeypatch, cores=cores)
    run.judge(iter(PAIRS), in_flight)
    assert [pair for shard in run.tasks.submitted for pair in shard.pairs] == PAIRS
    of_shards = [{pair.query.query_id for pair in shard.pairs} for shard in run.tasks.submitted]
    assert sum(map(len, of_shards)) == QUERIES
    assert [shard.size for shard in run.tasks.submitted] == sizes
    assert run.tasks.most_at_once == at_once
    assert [shard.first for shard in run.tasks.submitted[1:]] == [
        shard.last + 1 for shard in run.tasks.submitted[:-1]
    ]
    assert run.stored() == len(PAIRS)


def test_a_query_with_more_pairs_than_a_shard_is_one_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, monkeypatch)
    query = Query.of("which of many")
    many = [Pair(query=query, code=Code.of(f"x = {number}")) for number in range(150)]
    run.judge(iter([*PAIRS[:5], *many, *PAIRS[5:10]]))
    assert [shard.size for shard in run.tasks.submitted] == [5, 150, 5]


def test_a_store_that_cannot_be_read_ends_the_round_after_the_shards_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked_in_the_midst() -> Iterator[Pair]:
        yield from PAIRS[:100]
        raise StoreLockedError("held")

    run = Run(tmp_path, monkeypatch)
    with pytest.raises(StoreLockedError, match="held"):
        run.judge(locked_in_the_midst())
    assert run.stored() == sum(shard.size for shard in run.tasks.submitted) > 0


def test_what_a_store_did_not_take_is_stored_at_the_end_and_its_error_ends_the_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults: Iterator[Exception | None] = iter([None, DiskFullError("no room"), None])

    def store(database: Database, found: Sequence[Annotation]) -> None:
        if fault := next(faults, None):
            raise fault
        annotations.add_annotations(database, found)

    monkeypatch.setattr(shards, "store_annotations", store)
    monkeypatch.setattr(shards, "_SHARE_OF_TIME", 1e9)
    run = Run(tmp_path, monkeypatch)
    with pytest.raises(DiskFullError):
        run.judge(iter(PAIRS))
    assert run.stored() == sum(shard.size for shard in run.tasks.submitted) < len(PAIRS)


def test_a_ledger_that_cannot_be_read_ends_the_round_after_the_shards_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, monkeypatch)

    def look(*_: object) -> None:
        if run.arrived > 64:
            raise BudgetExhaustedError("the ledger cannot be written")

    monkeypatch.setattr(run, "refresh", look)
    with pytest.raises(BudgetExhaustedError, match="the ledger cannot be written"):
        run.judge(iter(PAIRS))
    assert run.stored() == sum(shard.size for shard in run.tasks.submitted) < len(PAIRS)


def test_a_run_waits_long_for_a_store_that_another_command_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []
    monkeypatch.setattr(
        shards, "judge_round", lambda plan, run, after: seen.append(
            run.store.lock_timeout_s
        ),
    )  # fmt: skip
    monkeypatch.setattr(annotate, "check_reach", lambda _: None)
    plan: Any = None
    state: Any = None
    for timeout_s in (0.0, 5_000.0):
        store = StoreSettings(folder=tmp_path, lock_timeout_s=timeout_s)
        annotate._judge_round(plan, run_by(Settings(store=store)), state)
    assert seen == [600.0, 5_000.0]


def test_a_lost_shard_ends_the_round_after_the_shards_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(shard: Shard) -> Judged:
        if shard.first == 1:
            raise RuntimeError("lost with its pairs")
        return judged(shard)

    run = Run(tmp_path, monkeypatch, work)
    with pytest.raises(RuntimeError, match="lost with its pairs"):
        run.judge(iter(PAIRS))
    _, *others = run.tasks.submitted
    assert len(others) == 1
    assert run.stored() == sum(shard.size for shard in others)


@pytest.mark.parametrize(
    "error", [ModelUnavailableError("down"), SettingsError("no"), BudgetExhaustedError("spent")]
)
def test_what_every_shard_would_meet_ends_the_round_and_what_was_paid_for_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Any
) -> None:
    def work(shard: Shard) -> Judged:
        whole = judged(shard)
        return Judged(whole.annotations[:7], error) if shard.first == 1 else whole

    run = Run(tmp_path, monkeypatch, work)
    with pytest.raises(type(error)):
        run.judge(iter(PAIRS))
    first, *others = run.tasks.submitted
    assert (first.size, len(others)) == (60, 1), "those at work"
    assert run.stored() == 7 + sum(shard.size for shard in others)
    assert run.closed == 1


def test_too_many_gold_questions_judged_wrongly_end_the_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, monkeypatch)

    def add(_: Sequence[Annotation]) -> None:
        run.alarm = GoldQuestionError("4 of 6 are wrong")

    monkeypatch.setattr(run, "add", add)
    with pytest.raises(GoldQuestionError):
        run.judge(iter(PAIRS))
    assert len(run.tasks.submitted) == 2
    assert run.closed == 1


def test_an_interrupt_stores_what_shards_give_back_and_starts_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, monkeypatch)
    run.tasks.stops = KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        run.judge(iter(PAIRS))
    assert run.stored() == run.tasks.submitted[0].size
    assert len(run.tasks.submitted) == 2


def test_shards_without_room_are_said_to_lack_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import ray  # noqa: PLC0415 - a second, for this test alone

    monkeypatch.setattr(ray, "available_resources", lambda: {"CPU": 0.0, "docker": 3.0})
    run = Run(tmp_path, monkeypatch)
    with caplog.at_level(logging.WARNING):
        run.judge(iter(PAIRS), placement_timeout_s=1e-9)
    said = {record.getMessage() for record in caplog.records}
    assert any("no worker is at work for 240 pairs left" in one for one in said)
    assert all("1 CPU and 1 docker on one node" in one for one in said)
    assert all("0 CPU and 3 docker are free" in one for one in said)
    caplog.clear()
    again = Run(tmp_path / "again", monkeypatch)
    again.judge(iter(PAIRS))
    assert caplog.records == [], "not before its patience is over"
