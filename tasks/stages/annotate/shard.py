"""A shard: a Prefect task on a Ray worker that judges some pairs, many at once."""

import asyncio
import math
import pickle
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from prefect import State
from prefect.logging.handlers import APILogWorker
from prefect.runtime import task_run
from prefect.states import Cancelled, Completed, Failed

from agents import Committee, Ledger, build_committee
from agents.committee.paths import AnnotationPath
from infra.errors import (
    BudgetExhaustedError,
    CosqaError,
    JudgingError,
    LanguageModelError,
    ModelRefusedError,
    ModelUnavailableError,
    SettingsError,
    WorkerLostError,
)
from infra.records import Annotation, Pair
from infra.settings import CommitteeSettings
from sandbox.backends import make_sandbox
from sandbox.contract.check import CheckedSandbox
from tasks.runtime.caching import Retries, stage
from tasks.runtime.references import RecipeReference
from tasks.runtime.run_logger import hear_libraries, run_logger

if TYPE_CHECKING:
    from tasks.runtime.journal_owner import JournalOwner, WorkerLedger

PATIENCE = Retries(
    (5, 60, 300),
    (Exception,),
    but=(BudgetExhaustedError, ModelRefusedError, SettingsError, JudgingError, WorkerLostError),
)
WIRE_S = 2.0
"""How long an interrupted shard waits for replies on the wire."""

AWAY = (AnnotationPath.MODEL_UNAVAILABLE, AnnotationPath.SANDBOX_UNAVAILABLE)
"""How the judging of a pair ended that is to be judged again once model or engine is back."""

_REASON_CHARACTERS = 500
_SENT_WITHIN_S = 5.0
_HANDFUL = 16  # places that are asked for together

_worker_loop = asyncio.Runner()  # one loop for all shards of a worker's process


@dataclass(frozen=True)
class Shard:
    """Pairs that are judged together.

    Attributes:
        collection: Whose pairs they are.
        first: The place of the first one among those of the run, from 1.
        last: That of the last one.
        content: The pairs as bytes, into which Prefect does not look for results of tasks.
    """

    collection: str
    first: int
    last: int
    content: bytes

    @property
    def size(self) -> int:
        """Number of pairs."""
        return self.last - self.first + 1

    @property
    def pairs(self) -> list[Pair]:
        """The pairs."""
        pairs: list[Pair] = pickle.loads(self.content)  # noqa: S301 - from this run's own flow
        return pairs


@dataclass
class Judged:
    """Judged pairs.

    Attributes:
        annotations: Their annotations.
        error: What ended the shard early; None where all its pairs are judged.
        is_interrupted: Whether that was an interrupt of the run.
    """

    annotations: list[Annotation] = field(default_factory=list)
    error: CosqaError | None = None
    is_interrupted: bool = False


@stage(
    "annotate-shard",
    "judge pairs {shard.first} to {shard.last} of {shard.collection} by {recipe.model}",
    retries=PATIENCE,
)
def annotate_shard(
    shard: Shard, committee: CommitteeSettings, recipe: RecipeReference, owner: "JournalOwner"
) -> State[Judged]:
    """Judge a shard's pairs on a worker, which never opens the store.

    Where model or engine is away, the shard fails and is tried again; so it does where its process
    is lost, by Ray. Replies that it had by then are in the journal.

    Args:
        shard: The pairs.
        committee: The agents, their model and the sandbox.
        recipe: The recipe of these agents.
        owner: Has the journal, and says how many pairs may be judged at once.
    """
    hear_libraries()
    try:
        judged = judge_on_worker(shard, committee, recipe, owner)
    finally:  # the worker may be gone a moment later
        APILogWorker.drain_all(timeout=_SENT_WITHIN_S)
    if judged.error:
        ended = Cancelled if judged.is_interrupted else Failed
        return ended(data=judged, message=str(judged.error))
    failed = sum(item.status == "failed" for item in judged.annotations)
    told = f"{len(judged.annotations)} pairs judged"
    return Completed(data=judged, message=f"{told}, {failed} of them failed" if failed else told)


def make_ready() -> None:
    """Do nothing: a worker that is to call it imports this module, and with it what shards need."""


def judge_on_worker(
    shard: Shard, committee: CommitteeSettings, recipe: RecipeReference, owner: "JournalOwner"
) -> Judged:
    """Judge a shard on the worker's event loop.

    Ray pickles the task's function by value, with copies of its globals. This function is imported
    on the worker, so that all shards of a process share one event loop.
    """
    return _worker_loop.run(_judge_shard(shard.pairs, committee, recipe, owner))


async def _judge_shard(
    pairs: Sequence[Pair], chosen: CommitteeSettings, recipe: RecipeReference, owner: "JournalOwner"
) -> Judged:
    ledger = owner.ledger(str(task_run.id))
    slots = Slots(ledger, len(pairs))
    try:
        return await judge_pairs(pairs, chosen, recipe, ledger, slots)
    finally:
        slots.close()


async def judge_pairs(
    pairs: Sequence[Pair],
    chosen: CommitteeSettings,
    recipe: RecipeReference,
    ledger: Ledger,
    places: "asyncio.Semaphore | Slots",
) -> Judged:
    """Judge pairs by a committee of their own.

    Args:
        pairs: The pairs.
        chosen: The agents, their model and the sandbox.
        recipe: The recipe of these agents.
        ledger: The model's, which is closed with the committee.
        places: Lets so many pairs be judged at once.
    """
    sandbox = CheckedSandbox(make_sandbox(chosen.sandbox), chosen.sandbox)
    committee = build_committee(chosen, recipe.recipe_id, sandbox, ledger, recipe.labelling_round)

    async def annotate(pair: Pair) -> Annotation:
        return await _annotation_of(pair, committee, recipe)

    try:
        judging = Judging(annotate, places, chosen.annotation.stop_after_failures, ledger.stop)
        judged = await judging.judge(pairs, chosen.llm.timeout_s)
        try:
            await ledger.flush()
        except (LanguageModelError, WorkerLostError) as error:
            judged.error = judged.error or error
        return judged
    finally:
        await committee.close()
        await sandbox.close()


class Slots:
    """Places of a shard, as the owner of the journal grants them to all shards together.

    One that a pair leaves is taken by the next of the shard; those that none takes go back.

    Args:
        ledger: Asks the owner.
        pairs: Number of pairs that are going to take a place.
    """

    def __init__(self, ledger: "WorkerLedger", pairs: int) -> None:
        self._ledger = ledger
        self._left = pairs
        self._waiting = 0
        self._free = asyncio.Semaphore(0)
        self._calls: set[asyncio.Task[None]] = set()
        self._is_asking = False
        self._error: WorkerLostError | None = None

    async def acquire(self) -> bool:
        """Wait for a place.

        Raises:
            WorkerLostError: The owner is lost.
        """
        if self._free.locked() and not self._is_asking:
            self._is_asking = True
            self._call(self._ask())
        self._waiting += 1
        await self._free.acquire()
        self._waiting -= 1
        if self._error:
            raise self._error
        self._left -= 1
        unused = 0
        while self._left == 0 and not self._free.locked():
            await self._free.acquire()
            unused += 1
        if unused:
            self._call(self._ledger.release_slots(unused))
        return True

    def release(self) -> None:
        """Leave a place, whose pair is judged."""
        self._ledger.count_judged()
        if self._left > 0:
            self._free.release()
        else:
            self._call(self._ledger.release_slots(1))

    def close(self) -> None:
        """Ask for no more places."""
        for call in self._calls:
            call.cancel()

    async def _ask(self) -> None:
        granted = 1
        try:
            granted = await self._ledger.acquire_slots(max(1, min(self._left, _HANDFUL)))
        except WorkerLostError as error:
            self._error = error
        self._is_asking = False
        used = max(0, min(granted, max(self._left, self._waiting)))
        for _ in range(used):
            self._free.release()
        if granted > used:  # pairs that have ended have left their places meanwhile
            await self._ledger.release_slots(granted - used)

    def _call(self, call: Coroutine[Any, Any, None]) -> None:
        running = asyncio.create_task(call)
        self._calls.add(running)
        running.add_done_callback(self._calls.discard)


class Judging:
    """Judges pairs, many at once; what all of them would meet ends it early.

    Pairs that failed since model or engine was away are judged once more after all others, and
    where too many of them fail in a row none of these is an annotation: they are to be judged when
    it is back.

    Args:
        annotate: Judges one pair.
        places: Lets so many pairs be judged at once.
        allowed: Failures in a row that end it.
        stop_asking: Lets no more requests be sent.
    """

    def __init__(
        self,
        annotate: Callable[[Pair], Awaitable[Annotation]],
        places: asyncio.Semaphore | Slots,
        allowed: int,
        stop_asking: Callable[[], object] = lambda: None,
    ) -> None:
        self._annotate = annotate
        self._places = places
        self._allowed = allowed
        self._stop_asking = stop_asking
        self._judged = Judged()
        self._in_a_row = 0
        self._away: list[Pair] = []
        self._is_last_try = False
        self._running: set[asyncio.Task[None]] = set()
        self._ending = asyncio.Event()

    async def judge(self, pairs: Sequence[Pair], grace_s: float) -> Judged:
        """Return the annotations of pairs; of those that were judged before an error or interrupt.

        Args:
            pairs: The pairs.
            grace_s: How long after an error requests in flight, which are paid, may take.
        """
        try:
            await self._judge_each(pairs)
            self._is_last_try = True
            await self._judge_each(self._away)
        except asyncio.CancelledError:
            self._stop_asking()
            self._judged.is_interrupted = True
            self._end(JudgingError("the run was interrupted"))
            grace_s = WIRE_S
        if self._running:
            await asyncio.wait(self._running, timeout=grace_s)
        for running in self._running:
            running.cancel()
        return self._judged

    async def _judge_each(self, pairs: Sequence[Pair]) -> None:
        """Judge pairs until all are, or an error ends it while some are still judged."""
        ending = asyncio.create_task(self._ending.wait())
        try:
            for pair in pairs:
                place = asyncio.create_task(self._places.acquire())
                await asyncio.wait([place, ending], return_when=asyncio.FIRST_COMPLETED)
                if self._judged.error:
                    if not place.cancel():
                        self._places.release()
                    return
                place.result()
                running = asyncio.create_task(self._judge(pair))
                self._running.add(running)
                running.add_done_callback(self._leave)
            while self._running and not self._judged.error:
                await asyncio.wait([*self._running, ending], return_when=asyncio.FIRST_COMPLETED)
        finally:
            ending.cancel()

    def _leave(self, running: asyncio.Task[None]) -> None:
        self._running.discard(running)
        self._places.release()

    async def _judge(self, pair: Pair) -> None:
        try:
            self._count(pair, await self._annotate(pair))
        except (LanguageModelError, JudgingError, WorkerLostError) as error:
            self._end(error)

    def _count(self, pair: Pair, annotation: Annotation) -> None:
        """Keep an annotation, or its pair for another try; end where too many fail in a row."""
        is_away = annotation.path in AWAY and not self._is_last_try
        if is_away:
            self._away.append(pair)
        else:
            self._judged.annotations.append(annotation)
        self._in_a_row = self._in_a_row + 1 if annotation.status == "failed" else 0
        if self._in_a_row >= self._allowed and not self._is_last_try:
            raise (ModelUnavailableError if is_away else JudgingError)(
                in_a_row(self._in_a_row, annotation)
            )

    def _end(self, error: CosqaError) -> None:
        self._judged.error = self._judged.error or error
        self._ending.set()


async def _annotation_of(pair: Pair, committee: Committee, recipe: RecipeReference) -> Annotation:
    """Return the committee's annotation; after an unexpected error, one with status failed.

    Raises:
        LanguageModelError: The model refuses every request, or the budget is spent.
        WorkerLostError: The owner of the journal is lost.
    """
    try:
        return await committee.judge(pair)
    except (LanguageModelError, WorkerLostError):
        raise
    except Exception as error:  # noqa: BLE001 - one pair must not fail the others
        run_logger(__name__).exception("query %s, code %s could not be judged", *pair.key)
        return Annotation(
            query_id=pair.query.query_id,
            code_id=pair.code.code_id,
            recipe_id=recipe.recipe_id,
            status="failed",
            path=AnnotationPath.INTERNAL_ERROR,
            reason=_error_text(error),
        )


def in_a_row(number: int, last: Annotation) -> str:
    """Return the message for so many failed pairs in a row, of which the last one is given."""
    return (
        f"{number} pairs failed in a row, the last one with: {last.reason}; finished pairs are "
        "stored: remove the cause and run the same command again"
    )


def delays_of(patience_s: float) -> list[float]:
    """Return the seconds before each further try of a shard: in all as long, and one at least."""
    first, second, others = PATIENCE.delays_s
    delays = [first, second] + [others] * math.ceil(patience_s / others)
    while len(delays) > 1 and sum(delays) > patience_s:
        delays.pop()
    return delays


def _error_text(error: Exception) -> str:
    """Return an exception's type and message, shortened, as text that can be stored."""
    text = traceback.format_exception_only(error)[-1].strip()
    return text[:_REASON_CHARACTERS].encode(errors="backslashreplace").decode()
