"""The flow's side of a labelling round: cuts pairs into shards, and stores what they give back.

It imports Ray, which takes a second: the flow imports this module only if there are pending pairs.
"""

import pickle
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby, islice
from typing import cast
from uuid import UUID

from prefect import State
from prefect.client.schemas.objects import RunInput, TaskRunResult
from prefect.exceptions import TerminationSignal
from prefect.states import Completed
from prefect.task_engine import run_task_sync

from infra.errors import (
    BudgetExhaustedError,
    DiskFullError,
    JudgingError,
    StoreError,
    WorkerLostError,
)
from infra.ray import box_resources
from infra.records import Annotation, Pair
from infra.store import Database, annotations, open_database
from infra.store.pending import pairs_in
from tasks.runtime.artifacts import artifact_key
from tasks.runtime.caching import stage
from tasks.runtime.journal_owner import JournalOwner, Terms
from tasks.runtime.progress import progress
from tasks.runtime.ray_tasks import RayTasks, cores, room_for
from tasks.runtime.references import JudgedPairs
from tasks.runtime.run_logger import run_logger
from tasks.stages.annotate.canaries import CanaryWatch, load_judged_canaries, mix_canaries
from tasks.stages.annotate.plan import AnnotationPlan
from tasks.stages.annotate.run import AnnotationRun
from tasks.stages.annotate.run_watch import RunWatch
from tasks.stages.annotate.shard import (
    AWAY,
    WIRE_S,
    Judged,
    Shard,
    annotate_shard,
    delays_of,
    in_a_row,
)
from tasks.stages.annotate.writer import store_annotations

_POLL_S = 0.25
_SHARE_OF_TIME = 0.05  # that storing may take, however long a commit takes
_SHARD_PAIRS = 64
_CORES_A_SHARD = 1.0  # a second process on a core costs its imports and gains no time


def judge_round(
    plan: AnnotationPlan, run: AnnotationRun, after: State[object]
) -> State[JudgedPairs]:
    """Judge a plan's pairs in shards on Ray's workers, and store their annotations.

    Pairs are read while others are judged: memory does not grow with their number.

    Args:
        plan: The pairs.
        run: Who judges, and where.
        after: The state of the task that chose them.

    Raises:
        CanaryError: Too many canaries were judged wrongly.
        CosqaError: The first error of a shard or of the store; what was stored before stays.
    """
    database, annotation, llm = (
        open_database(run.store),
        run.committee.annotation,
        run.committee.llm,
    )
    terms = Terms(run.store, llm, plan.budget, annotation.in_flight)
    delays = delays_of(annotation.patience_s)
    task = annotate_shard.with_options(retries=len(delays), retry_delay_seconds=delays)
    key, named = (
        artifact_key("annotation", plan.collection),
        replace(run, recipe=plan.recipe).in_round,
    )
    with (
        progress(key, f"pairs judged{named}", plan.pairs) as bar,
        JournalOwner(terms) as owner,
        RayTasks[Judged](task, _asked(), [after], owner.release) as tasks,
    ):
        canaries = _canary_watch(plan, annotation.canary_limit, database)
        watch = RunWatch(plan, terms.ledger(), run.store, bar, canaries)
        coordinator = Coordinator(plan, run, tasks, owner, watch, database)
        coordinator.judge(_pairs_of(database, plan))
    watch.close()
    behind: set[RunInput] = {TaskRunResult(id=each) for each in coordinator.shards}
    state = run_task_sync(  # a call of the task could name no dependencies
        tell_labels,
        parameters={"plan": plan, "judged": watch.judged_pairs()},
        dependencies={"judged": behind},
        return_type="state",
    )
    return cast("State[JudgedPairs]", state)


@stage("labels", "labels of {plan.collection} by {plan.recipe.model}")
def tell_labels(plan: AnnotationPlan, judged: JudgedPairs) -> State[JudgedPairs]:  # noqa: ARG001 - in its name
    """Tell what became of a round's pairs, behind all of its shards."""
    return Completed(data=judged, message=str(judged))


class Coordinator:
    """Keeps shards at work, and stores their annotations as they end.

    An error of the model, the settings or the store, or too many canaries judged wrongly, ends the
    round: shards at work are waited for, no more are started. A shard that is lost for another
    reason is an error at the end, when the others are judged.

    Args:
        plan: What is judged, and by whom.
        run: Who judges, and where.
        tasks: The shards at work.
        owner: The owner of the journal.
        watch: Counts and shows what arrives.
        database: Where annotations are stored, many at once.

    Attributes:
        shards: The ids of all shards' runs.
    """

    def __init__(
        self,
        plan: AnnotationPlan,
        run: AnnotationRun,
        tasks: RayTasks[Judged],
        owner: JournalOwner,
        watch: RunWatch,
        database: Database,
    ) -> None:
        self.shards: list[UUID] = []
        self._plan = plan
        self._run = run
        self._tasks = tasks
        self._owner = owner
        self._watch = watch
        self._database = database
        self._unstored: list[Annotation] = []
        self._store_at = 0.0
        in_flight = run.committee.annotation.in_flight
        self._wanted = run.shards_for(plan.pairs)
        self._at_once = max(1, min(self._wanted, int(cores() / _CORES_A_SHARD)))
        self._places = -(-in_flight // self._at_once)
        self._submitted = 0
        self._lost = 0
        self._failed_in_a_row = 0
        self._error: Exception | None = None
        self._is_ending = False
        self._look_at = time.monotonic() + run.ray.placement_timeout_s

    def judge(self, pairs: Iterable[Pair]) -> None:
        """Judge pairs, all of a query together.

        Raises:
            CanaryError: Too many canaries were judged wrongly.
            CosqaError: The first error of a shard or of the store.
        """
        shards = self._cut(pairs)
        try:
            self._submit(shards)
            while self._tasks:
                self._take_ended()
                self._submit(shards)
                self._look_for_room()
        except (KeyboardInterrupt, TerminationSignal):
            for judged in self._tasks.interrupt(WIRE_S + _POLL_S):
                self._unstored += judged.annotations
            self._store()
            raise
        self._store()
        if error := self._watch.alarm or self._error:
            self._watch.close()
            raise error

    def _cut(self, pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
        """Yield shards; the last ones are small, yet fill their places: all end together."""
        most = max(_SHARD_PAIRS, 4 * self._places)
        shard, left = list[Pair](), self._plan.pairs
        for _, group in groupby(pairs, key=lambda pair: pair.query.query_id):
            of_query = list(group)
            size = min(most, max(self._places, left // (2 * self._at_once)))
            if shard and len(shard) + len(of_query) > size:
                yield shard
                left -= len(shard)
                shard = []
            shard += of_query
        if shard:
            yield shard

    def _submit(self, shards: Iterator[list[Pair]]) -> None:
        """Start shards, some more than have room: those wait at Ray and begin at once."""
        wanted = 0 if self._is_ending else max(0, self._wanted + 1 - len(self._tasks))
        with self._ending():
            for pairs in islice(shards, wanted):
                shard = Shard(
                    collection=self._plan.collection,
                    first=self._submitted + 1,
                    last=self._submitted + len(pairs),
                    content=pickle.dumps(pairs),
                )
                self._submitted = shard.last
                run = self._tasks.submit(
                    shard=shard, committee=self._run.committee, recipe=self._plan.recipe,
                    owner=self._owner,
                )  # fmt: skip
                self.shards.append(run)

    def _take_ended(self) -> None:
        """Store what shards have judged that have ended."""
        try:
            for judged in self._tasks.ended(_POLL_S):
                self._take(judged)
        except Exception as error:  # noqa: BLE001 - raised by `judge`
            self._lost += 1
            self._error = self._error or error
            self._is_ending |= self._lost > self._wanted  # all may have the same fault
        if time.monotonic() >= self._store_at:
            self._store()
        with self._ending():
            self._watch.turn(lambda: self._owner.at_work()[1])

    def _take(self, judged: Judged) -> None:
        """Count what a shard has judged."""
        self._unstored += judged.annotations
        self._watch.add(judged.annotations)
        error = judged.error or self._too_many_failures(judged)
        self._error = self._error or error
        self._is_ending |= bool(error or self._watch.alarm)

    def _too_many_failures(self, judged: Judged) -> JudgingError | None:
        """Return the error of more failed pairs in a row than a shard has."""
        for item in judged.annotations:
            if item.path in AWAY:
                continue
            self._failed_in_a_row = self._failed_in_a_row + 1 if item.status == "failed" else 0
            if self._failed_in_a_row >= self._run.committee.annotation.stop_after_failures:
                return JudgingError(in_a_row(self._failed_in_a_row, item))
        return None

    def _store(self) -> None:
        """Store what waits, or keep it where the store cannot be written.

        What a killed process had not stored is derived again from the replies in the journal.
        """
        started = time.monotonic()
        if self._unstored:
            with self._ending():
                store_annotations(self._database, self._unstored)
                self._unstored = []
        taken = time.monotonic() - started
        self._store_at = time.monotonic() + taken / _SHARE_OF_TIME

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """Let an error of store, journal or owner end the round after the shards at work."""
        try:
            yield
        except (StoreError, DiskFullError, BudgetExhaustedError, WorkerLostError) as error:
            self._error = self._error or error
            self._is_ending = True

    def _look_for_room(self) -> None:
        """Say what shards need where none has been at work for a while."""
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + self._run.ray.placement_timeout_s
        with self._ending():
            if self._tasks and not self._owner.at_work()[0]:
                run_logger(__name__).warning(
                    "%s pairs wait for a worker, and none is at work: %s; end other work there or "
                    "start a node with room", f"{self._plan.pairs - self._watch.arrived:,}",
                    room_for(_asked()),
                )  # fmt: skip


def _asked() -> dict[str, float]:
    """Return what a shard asks Ray for."""
    return {"CPU": _CORES_A_SHARD, **box_resources()}


def _pairs_of(database: Database, plan: AnnotationPlan) -> Iterator[Pair]:
    """Yield the plan's pairs, read from the store on demand, with the canaries among them."""
    canaries = annotations.load_pairs(database, [canary.key for canary in plan.canaries])
    return mix_canaries(
        pairs_in(database, plan.collection, plan.pairs_file), canaries, plan.pending
    )


def _canary_watch(plan: AnnotationPlan, limit: float, database: Database) -> CanaryWatch:
    """Return the watch over a round's canaries, with the recipe's earlier canaries."""
    own = {canary.key: canary for canary in plan.canaries}
    if not own:
        return CanaryWatch(own, limit, plan.recipe.model)
    earlier, known = load_judged_canaries(database, plan.recipe.recipe_id)
    return CanaryWatch({**known, **own}, limit, plan.recipe.model, earlier)
