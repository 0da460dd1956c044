"""A shard: a Prefect task on a Ray worker that judges some pairs, many at once."""

import asyncio
import gc
import pickle
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from prefect import State
from prefect.runtime import task_run
from prefect.states import Cancelled, Completed, Failed

from agents import Committee, Ledger, build_committee, build_model
from agents.committee.algorithm import AnnotationPath
from infra.errors import (
    BoxLostError,
    CosqaError,
    EngineUnavailableError,
    JudgingError,
    LanguageModelError,
    ModelUnavailableError,
    PromptsCutError,
    WorkerLostError,
)
from infra.records import Annotation, Pair
from infra.settings import CommitteeSettings
from sandbox.backends import make_sandbox
from sandbox.contract.check import CheckedSandbox
from tasks.reports.text import counted
from tasks.runtime.caching import MODEL_AWAY, StageRetry, stage
from tasks.runtime.progress import hear_libraries, run_logger, send_logs
from tasks.runtime.references import RecipeReference

if TYPE_CHECKING:
    from tasks.stages.annotate.ledger_actor import LedgerHandle, RemoteLedger

PATIENCE = StageRetry(
    MODEL_AWAY.delays_s, (ModelUnavailableError, EngineUnavailableError, BoxLostError)
)
WIRE_S = 2.0
"""Seconds that an interrupted shard waits for replies on the wire."""

_AWAY = (AnnotationPath.MODEL_UNAVAILABLE, AnnotationPath.SANDBOX_UNAVAILABLE)
_REASON_CHARACTERS = 500
_HANDFUL = 16  # slots that are asked for together
_SLOTS_A_SHARD = 16  # one with fewer would wait for the model more than it works

_worker_loop = asyncio.Runner()  # one loop for all shards of a worker's process


@dataclass(frozen=True)
class Shard:
    """Pairs that are judged together.

    Attributes:
        collection: Whose pairs they are.
        first: The number of the first one among those of the run, from 1.
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
    shard: Shard, committee: CommitteeSettings, recipe: RecipeReference, actor: "LedgerHandle"
) -> State[Judged]:
    """Judge a shard's pairs on a worker, which never opens the store.

    Where model or engine is away, the shard fails and is tried again; so it does where its process
    is lost, by Ray. Replies that it had by then are in the journal.
    """
    hear_libraries()
    try:
        judged = judge_on_worker(shard, committee, recipe, actor)
    finally:
        send_logs()
    if judged.error:
        ended = Cancelled if judged.is_interrupted else Failed
        return ended(data=judged, message=str(judged.error))
    failed = sum(item.status == "failed" for item in judged.annotations)
    message = f"{counted(len(judged.annotations) - failed, 'pairs')} judged"
    if failed:
        message += f", {failed} failed"
    return Completed(data=judged, message=message)


def shards_for(pairs: int, in_flight: int) -> int:
    """Return the number of shards to be at work, if Ray has room for them."""
    return -(-min(in_flight, pairs) // _SLOTS_A_SHARD)


def make_ready() -> None:
    """Do nothing: a worker that is to call it imports this module, and with it what shards need."""


def judge_on_worker(
    shard: Shard, committee: CommitteeSettings, recipe: RecipeReference, actor: "LedgerHandle"
) -> Judged:
    """Judge a shard on the worker's event loop.

    Ray pickles the task's function by value, with copies of its globals. This function is imported
    on the worker, so that all shards of a process share one event loop.
    """

    async def judge() -> Judged:
        ledger = actor.ledger(str(task_run.id))
        slots = SlotLease(ledger, shard.size)
        try:
            return await judge_pairs(
                shard.pairs, committee, recipe, ledger, slots, ledger.count_judged
            )
        finally:
            slots.close()

    gc.collect()  # circles of Prefect's have the shard before, and Python rarely looks for them
    # The loop keeps the context of its start as long as the process: by a run's, it would keep that
    # run's result, and give all later shards that run's id and log.
    Context().run(_worker_loop.get_loop)
    return _worker_loop.run(judge(), context=copy_context())


async def judge_pairs(
    pairs: Sequence[Pair],
    chosen: CommitteeSettings,
    recipe: RecipeReference,
    ledger: Ledger,
    slots: "asyncio.Semaphore | SlotLease",
    on_judged: Callable[[], object] = lambda: None,
) -> Judged:
    """Judge pairs by a committee of their own.

    Args:
        pairs: The pairs.
        chosen: The agents, their model and the sandbox.
        recipe: The recipe of these agents.
        ledger: The model's, which is closed with the committee.
        slots: Bounds how many pairs are judged at once.
        on_judged: Called whenever a pair is judged, and has not failed.
    """
    sandbox = CheckedSandbox(make_sandbox(chosen.sandbox), chosen.sandbox)
    model = build_model(chosen.llm, ledger, recipe.labelling_round)
    committee = build_committee(model, chosen, recipe.recipe_id, sandbox)

    async def annotate(pair: Pair) -> Annotation:
        annotation = await _annotation_of(pair, committee, recipe)
        if annotation.status != "failed":
            on_judged()
        return annotation

    try:
        runner = ShardRunner(annotate, slots, chosen.annotation.stop_after_failures, ledger.stop)
        judged = await runner.judge(pairs, chosen.llm.timeout_s)
        try:
            await ledger.flush()
        except (LanguageModelError, WorkerLostError) as error:
            judged.error = judged.error or error
        return judged
    finally:
        await committee.close()
        await sandbox.close()


class SlotLease:
    """The slots of a shard, as the ledger's actor grants them to all shards together.

    As a context it holds one. One that a pair leaves is taken by the next pair of the shard; those
    for which none waits go back.

    Args:
        ledger: Asks the actor.
        pairs: Number of pairs, each of which takes a slot once, and all of which ask at once.
    """

    def __init__(self, ledger: "RemoteLedger", pairs: int) -> None:
        self._ledger = ledger
        self._waiting = pairs
        self._free = asyncio.Semaphore(0)
        self._asking: asyncio.Task[None] | None = None
        self._error: WorkerLostError | None = None

    async def __aenter__(self) -> None:
        """Wait for a slot."""
        if self._free.locked() and self._asking is None:
            self._asking = asyncio.create_task(self._ask())
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        if self._error:
            raise self._error

    async def __aexit__(self, *_error: object) -> None:
        if self._waiting > 0:
            self._free.release()
        else:
            self._ledger.release_slots(1)

    def close(self) -> None:
        """Ask for no more slots."""
        if self._asking:
            self._asking.cancel()

    async def _ask(self) -> None:
        while self._waiting > 0:
            try:
                granted = await self._ledger.acquire_slots(min(self._waiting, _HANDFUL))
            except WorkerLostError as error:
                self._error = error
                for _ in range(self._waiting):
                    self._free.release()
                return
            used = min(granted, self._waiting)
            for _ in range(used):
                self._free.release()
            if granted > used:  # pairs that have ended have left their slots meanwhile
                self._ledger.release_slots(granted - used)
            await asyncio.sleep(0)  # those who have waited take them


@dataclass(eq=False)
class ShardRunner:
    """Judges pairs, many at once; an error that all of them would meet ends it early.

    Attributes:
        annotate: Judges one pair.
        slots: Bounds how many pairs are judged at once.
        allowed: Failures in a row that end it.
        stop_asking: Lets no more requests be sent.
    """

    annotate: Callable[[Pair], Awaitable[Annotation]]
    slots: asyncio.Semaphore | SlotLease
    allowed: int
    stop_asking: Callable[[], object] = lambda: None
    _judged: Judged = field(default_factory=Judged)
    _in_a_row: int = 0
    _waiting: set[asyncio.Task[None]] = field(default_factory=set)
    _deadline: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))

    async def judge(self, pairs: Sequence[Pair], grace_s: float) -> Judged:
        """Return the annotations of pairs; of those that were judged before an error or interrupt.

        Pairs that failed since model or engine is away are no annotations where that has ended it,
        and none that rest on prompts of which a server has dropped a part.

        Args:
            pairs: The pairs.
            grace_s: How long after an error requests in flight, which are paid, may take.
        """
        tasks = [asyncio.create_task(self._judge(pair, grace_s)) for pair in pairs]
        self._waiting.update(tasks)
        judged = self._judged
        try:
            async with self._deadline:
                await asyncio.wait(tasks)
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            self.stop_asking()
            judged.is_interrupted = True
            self._end(JudgingError("the run was interrupted"))
            await asyncio.wait(tasks, timeout=WIRE_S)
        for task in tasks:
            task.cancel()
        if isinstance(judged.error, ModelUnavailableError):
            judged.annotations = [item for item in judged.annotations if item.path not in _AWAY]
        if isinstance(judged.error, PromptsCutError):
            most = judged.error.tokens
            judged.annotations = [
                item
                for item in judged.annotations
                if all((call.prompt_tokens or 0) < most for call in item.calls)
            ]
        return judged

    async def _judge(self, pair: Pair, grace_s: float) -> None:
        try:
            async with self.slots:
                self._waiting.remove(cast("asyncio.Task[None]", asyncio.current_task()))
                self._add(await self.annotate(pair))
        except (LanguageModelError, JudgingError, WorkerLostError) as error:
            if not self._judged.error:
                self._deadline.reschedule(asyncio.get_running_loop().time() + grace_s)
            self._end(error)

    def _add(self, annotation: Annotation) -> None:
        """Add an annotation.

        Raises:
            ModelUnavailableError: Too many failed in a row, since model or engine is away.
            JudgingError: Too many failed in a row for another reason.
        """
        self._judged.annotations.append(annotation)
        self._in_a_row = self._in_a_row + 1 if annotation.status == "failed" else 0
        if self._in_a_row >= self.allowed:
            is_away = annotation.path in _AWAY
            raise (ModelUnavailableError if is_away else JudgingError)(
                f"{self._in_a_row} pairs failed in a row, the last one with: {annotation.reason}; "
                "finished pairs are stored: remove the cause and run the same command again"
            )

    def _end(self, error: CosqaError) -> None:
        """Let no pair begin that waits for a slot."""
        self._judged.error = self._judged.error or error
        for task in self._waiting:
            task.cancel()


async def _annotation_of(pair: Pair, committee: Committee, recipe: RecipeReference) -> Annotation:
    """Return the committee's annotation; after an unexpected error, one with status failed."""
    try:
        return await committee.judge(pair)
    except (LanguageModelError, WorkerLostError):
        raise
    except Exception as error:  # noqa: BLE001 - one pair must not fail the others
        run_logger(__name__).exception("query %s, code %s could not be judged", *pair.key)
        text = traceback.format_exception_only(error)[-1].strip()[:_REASON_CHARACTERS]
        return Annotation(
            query_id=pair.query.query_id,
            code_id=pair.code.code_id,
            recipe_id=recipe.recipe_id,
            status="failed",
            path=AnnotationPath.INTERNAL_ERROR,
            reason=text.encode(errors="backslashreplace").decode(),  # a store takes no surrogates
        )
