"""The flow's side of a labelling round: cuts pairs into shards, and stores what they give back.

It imports Ray, which takes a second: the flow imports this module only if there are pending pairs.
"""

import pickle
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import cast
from uuid import UUID

from prefect import State
from prefect.client.schemas.objects import RunInput, TaskRunResult
from prefect.exceptions import TerminationSignal
from prefect.states import Completed
from prefect.task_engine import run_task_sync

from agents.roles.read import Screener
from infra.ray import box_resources
from infra.records import Annotation, Pair
from infra.store import Database, annotations, open_database
from infra.store.figures import reading_figures
from infra.store.pending import pairs_in
from tasks.reports.run import contradictions
from tasks.reports.text import counted
from tasks.runtime.caching import stage, task_of
from tasks.runtime.progress import artifact_key, get_run_logger, progress, run_logger
from tasks.runtime.ray_tasks import RayTasks, cores, room_for
from tasks.runtime.references import JudgedPairs
from tasks.stages.annotate.gold import ENOUGH, known_labels, mix_questions
from tasks.stages.annotate.ledger_actor import LedgerHandle, RunBudget
from tasks.stages.annotate.monitor import ProgressMonitor, store_annotations
from tasks.stages.annotate.plan import AnnotationPlan, AnnotationRun
from tasks.stages.annotate.shard import WIRE_S, Judged, Shard, annotate_shard, shards_for

_POLL_S = 0.25
_REFRESH_S = 2.0
_SHARE_OF_TIME = 0.05  # that storing may take, however long a commit takes
_SHARD_PAIRS = 64
_CORES_A_SHARD = 1.0  # a second process on a core costs its imports and gains no time


def judge_round(
    plan: AnnotationPlan, run: AnnotationRun, after: State[object]
) -> State[JudgedPairs]:
    """Judge a plan's pairs in shards on Ray's workers, and store their annotations.

    The first gold questions are judged before any pair. Pairs are read while others are judged:
    memory does not grow with their number.

    Raises:
        GoldQuestionError: Too many gold questions were judged wrongly.
        CosqaError: The first error of a shard or of the store; what was stored before stays.
    """
    database, annotation = open_database(run.store), run.committee.annotation
    budget = RunBudget(run.store, run.committee.llm, plan.budget, annotation.in_flight)
    title = "pairs judged"
    if annotation.rounds > 1:
        title += f", round {plan.recipe.labelling_round} of {annotation.rounds}"
    with (
        progress(artifact_key("annotation", plan.collection), title, plan.pending) as bar,
        LedgerHandle(budget) as actor,
        RayTasks[Judged](task_of(annotate_shard), _asked(), [after], actor.release) as tasks,
    ):
        limit = 1.0 if run.accepts_gold else annotation.gold_limit
        monitor = ProgressMonitor(plan, budget.ledger(), known_labels(database), limit, bar)
        runner = RoundRunner(plan, run, tasks, actor, monitor, database)
        gold = annotations.load_pairs(database, plan.gold)
        pairs = pairs_in(database, plan.collection, plan.pairs_file)
        runner.judge(gold[:ENOUGH])
        runner.judge(mix_questions(pairs, gold[ENOUGH:], plan.pending))
    monitor.close()
    read = reading_figures(database, [plan.recipe.recipe_id], Screener.role)
    if read.tested:
        get_run_logger().info(contradictions(read))
    behind: set[RunInput] = {TaskRunResult(id=each) for each in runner.shards}
    state = run_task_sync(  # a call of the task could name no dependencies
        task_of(collect_round),
        parameters={"plan": plan, "judged": monitor.judged_pairs()},
        dependencies={"judged": behind},
        return_type="state",
    )
    return cast("State[JudgedPairs]", state)


@stage("labels", "labels of {plan.collection} by {plan.recipe.model}")
def collect_round(plan: AnnotationPlan, judged: JudgedPairs) -> State[JudgedPairs]:  # noqa: ARG001 - in its name
    """Return the outcome of a round's pairs, behind all of its shards in the graph."""
    return Completed(data=judged, message=str(judged))


@dataclass(eq=False)
class RoundRunner:
    """Keeps shards at work, and stores their annotations as they end.

    The first error of a shard, the store or the journal, or too many gold questions judged wrongly,
    ends the round: shards at work are waited for, no more are started.

    Attributes:
        plan: What is judged, and by whom.
        run: Who judges, and where.
        tasks: The shards at work.
        actor: The ledger's actor.
        monitor: Counts and shows what arrives.
        database: Where annotations are stored, many at once.
        shards: The ids of all shards' runs.
    """

    plan: AnnotationPlan
    run: AnnotationRun
    tasks: RayTasks[Judged]
    actor: LedgerHandle
    monitor: ProgressMonitor
    database: Database
    shards: list[UUID] = field(default_factory=list)
    _unstored: list[Annotation] = field(default_factory=list)
    _error: Exception | None = None
    _at_once: int = 1
    _submitted: int = 0
    _store_at: float = 0.0
    _refresh_at: float = 0.0
    _idle_since: float = field(default_factory=time.monotonic)

    @property
    def _in_flight(self) -> int:
        return self.run.committee.annotation.in_flight

    def judge(self, pairs: Iterable[Pair]) -> None:
        """Judge pairs, all of a query together."""
        shards = self._cut(pairs)
        try:
            self._submit(shards)
            while self.tasks:
                self._take_ended()
                self._submit(shards)
                self._refresh()
        except (KeyboardInterrupt, TerminationSignal):
            for judged in self.tasks.interrupt(WIRE_S + _POLL_S):
                self._unstored += judged.annotations
            self._store()
            raise
        self._store()
        if error := self.monitor.alarm or self._error:
            self.monitor.close()
            raise error

    def _cut(self, pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
        """Yield shards; the last ones are small, so that all end together.

        While one waits for its last replies, others take its slots: each has pairs for many.
        """
        shard, left = list[Pair](), self.plan.pairs
        for _, group in groupby(pairs, key=lambda pair: pair.query.query_id):
            of_query = list(group)
            slots = self._in_flight / self._at_once
            most = max(_SHARD_PAIRS, 8 * slots)
            size = min(most, max(2 * slots, left / self._at_once))
            if shard and len(shard) + len(of_query) > size:
                yield shard
                left -= len(shard)
                shard = []
            shard += of_query
        if shard:
            yield shard

    def _submit(self, shards: Iterator[list[Pair]]) -> None:
        """Start shards, twice as many as have room: those that wait begin as soon as others end."""
        if self._error or self.monitor.alarm:
            return
        with self._errors_noted():
            wanted = shards_for(self.plan.pairs, self._in_flight)
            self._at_once = max(1, min(wanted, int(cores() / _CORES_A_SHARD)))
            for pairs in islice(shards, max(0, 2 * self._at_once - len(self.tasks))):
                shard = Shard(
                    collection=self.plan.collection,
                    first=self._submitted + 1,
                    last=self._submitted + len(pairs),
                    content=pickle.dumps(pairs),
                )
                self._submitted = shard.last
                run = self.tasks.submit(
                    shard=shard, committee=self.run.committee, recipe=self.plan.recipe,
                    actor=self.actor,
                )  # fmt: skip
                self.shards.append(run)

    def _take_ended(self) -> None:
        with self._errors_noted():
            for judged in self.tasks.ended(_POLL_S):
                self._unstored += judged.annotations
                self.monitor.add(judged.annotations)
                self._error = self._error or judged.error
        if time.monotonic() >= self._store_at:
            self._store()

    def _store(self) -> None:
        """Store annotations that wait; they go on waiting where the store cannot be written.

        What a killed process had not stored is derived again from the replies in the journal.
        """
        started = time.monotonic()
        if self._unstored:
            with self._errors_noted():
                store_annotations(self.database, self._unstored)
                self._unstored = []
        taken = time.monotonic() - started
        self._store_at = time.monotonic() + taken / _SHARE_OF_TIME

    def _refresh(self) -> None:
        """Show the progress, and what shards lack where none has been at work for a while."""
        now = time.monotonic()
        if now < self._refresh_at:
            return
        self._refresh_at = now + _REFRESH_S
        with self._errors_noted():
            shards, judged, reserved_usd, trouble = self.actor.activity()
            self.monitor.refresh(judged, trouble, reserved_usd)
            if shards:
                self._idle_since = now
            elif self.tasks and now - self._idle_since > self.run.ray.placement_timeout_s:
                self._idle_since = now
                run_logger(__name__).warning(
                    "no worker is at work for %s left: %s; end other work there or start a node "
                    "with room", counted(self.plan.pairs - self.monitor.arrived, "pairs"),
                    room_for(_asked()),
                )  # fmt: skip

    @contextmanager
    def _errors_noted(self) -> Iterator[None]:
        """Let an error end the round after the shards at work; `judge` raises it then."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - raised by `judge`
            self._error = self._error or error


def _asked() -> dict[str, float]:
    return {"CPU": _CORES_A_SHARD, **box_resources()}
