"""The ledger of Ray's workers: an actor on the flow's node, asked by its handle.

Workers so share with the flow's machine neither disk nor file system. What a worker looks up and
commits at one moment travels in one call.
"""

import asyncio
import time
import zlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple, Self, TypeVar
from uuid import uuid4

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from agents import JournalLedger, Ledger, RequestError, Reservation, journal_ledger
from infra.budget import Budget
from infra.errors import LanguageModelError, UnrecordableError, WorkerLostError
from infra.ray import translate_ray_errors
from infra.settings import LanguageModelSettings, StoreSettings

_GATHERED_S = 0.004  # for which calls wait for others: an exchange costs more than what it carries
_HEARTBEAT_S = 10.0  # between signs of life of a worker, which waits for its model otherwise
_SILENT_S = 30.0  # after which a worker counts as dead, and its slots are free
_LOST = (
    "the journal's process does not answer: {}; what was paid for is stored: run the same command "
    "again"
)

_R = TypeVar("_R")
_Lookup = tuple[str, int, float | None]  # a key, or "" for none; the most tokens and US dollars
_Found = tuple[bytes | None, Reservation | None]


class RunBudget(NamedTuple):
    """The journal's store, the model, the run's budget, and the pairs to be judged at once."""

    store: StoreSettings
    llm: LanguageModelSettings
    budget: Budget
    in_flight: int

    def ledger(self) -> JournalLedger:
        """Return the model's ledger in the journal."""
        return journal_ledger(self.store, self.llm, self.budget)


class Activity(NamedTuple):
    """The activity of the shards at work.

    Attributes:
        shards: Number of those at work.
        judged: Pairs that these have judged.
        reserved_usd: US dollars that requests in flight may take at most, which count as spent.
        trouble: What requests wait for, such as a server that does not answer; "" for nothing.
    """

    shards: int
    judged: int
    reserved_usd: float
    trouble: str


@dataclass(eq=False)
class _Attempt:
    """The state of an attempt to judge a shard."""

    worker: str  # its process, which another try of the same attempt does not have
    calls: set[asyncio.Task[Any]] = field(default_factory=set)  # that have not ended
    reservations: dict[int, Reservation] = field(default_factory=dict)
    commits: set[asyncio.Task[None]] = field(default_factory=set)  # that are being written
    error: Exception | None = None  # of a commit
    slots: int = 0  # pairs that it may judge at once
    judged: int = 0  # pairs
    heard: float = field(default_factory=time.monotonic)  # when its worker last called


def _attempt_method(method: Callable[..., Coroutine[Any, Any, _R]]) -> Callable[..., Awaitable[_R]]:
    """Return a method that takes an attempt's name and its worker, and ends with the attempt.

    It raises ``WorkerLostError`` where the attempt has ended, or another process makes it.
    """

    async def call(actor: "LedgerActor", name: str, worker: str, *arguments: Any) -> _R:  # noqa: ANN401
        attempt = await actor._attempt(name, worker)  # noqa: SLF001 - its own
        task = asyncio.create_task(method(actor, attempt, *arguments))
        attempt.calls.add(task)
        task.add_done_callback(attempt.calls.discard)
        try:
            return await task
        except asyncio.CancelledError:
            actor._refuse_lost(worker)  # noqa: SLF001 - as above
            raise

    return call


class LedgerActor:
    """A ledger, and the slots of pairs that all workers judge at once."""

    def __init__(self, budget: RunBudget) -> None:
        self._ledger = budget.ledger()
        self._free = asyncio.Semaphore(budget.in_flight)
        self._attempts: dict[str, _Attempt] = {}
        self._lost: set[str] = set()  # workers of which all is taken back

    @_attempt_method
    async def rpc_batch(
        self,
        attempt: _Attempt,
        judged: int,
        released: int,
        commits: Sequence[tuple[Any, ...]],
        lookups: Sequence[_Lookup],
    ) -> tuple[float, list[_Found | BaseException]]:
        """Return the patience with requests, and what is found, or its error, for each lookup.

        Commits are made meanwhile: their last error is that of the next ``flush``.
        """
        attempt.judged = judged
        self._free_slots(attempt, released)
        for commit in commits:
            writing = asyncio.create_task(self._commit(attempt, *commit))
            attempt.commits.add(writing)
            writing.add_done_callback(attempt.commits.discard)
        looking = (self._look_up(attempt, *lookup) for lookup in lookups)
        found = await asyncio.gather(*looking, return_exceptions=True)
        return self._ledger.patience(), found

    @_attempt_method
    async def flush(self, attempt: _Attempt) -> None:
        """Wait until an attempt's commits are written; raise the error of one that was not."""
        if attempt.commits:
            await asyncio.wait(attempt.commits)
        if attempt.error:
            raise attempt.error

    @_attempt_method
    async def reserve(self, attempt: _Attempt, tokens: int, usd: float | None) -> Reservation:
        """Reserve what others may have to give back first."""
        made = await self._ledger.reserve(tokens, usd)
        attempt.reservations[made.number] = made
        return made

    @_attempt_method
    async def wait_for_rate_limit(self, attempt: _Attempt, reservation: Reservation) -> Reservation:
        """Wait until a request may be sent."""
        paced = await self._ledger.wait_for_rate_limit(reservation)
        if paced.number in attempt.reservations:  # else its request was cancelled meanwhile
            attempt.reservations[paced.number] = paced
        return paced

    @_attempt_method
    async def acquire_slots(self, attempt: _Attempt, wanted: int) -> int:
        """Wait for a slot; return how many there are now, at most as many as wanted."""
        await self._free.acquire()
        granted = 1
        while granted < wanted and not self._free.locked():
            await self._free.acquire()
            granted += 1
        attempt.slots += granted
        return granted

    async def activity(self) -> Activity:
        """Return the activity of the attempts.

        The slots of dead workers are free from then on: the next try of such an attempt may have to
        wait for those at work. What it has reserved stays reserved, until then or its release.
        """
        limit, shards, judged, reserved_usd = time.monotonic() - _SILENT_S, 0, 0, 0.0
        for attempt in self._attempts.values():
            judged += attempt.judged
            reserved_usd += sum(each.usd for each in attempt.reservations.values())
            if attempt.heard > limit:
                shards += 1
            else:
                self._free_slots(attempt, attempt.slots)
        return Activity(shards, judged, reserved_usd, self._ledger.trouble)

    async def release(self, name: str) -> None:
        """Take back what an attempt has that has ended, once its commits are written."""
        await self._take_back(self._attempts.pop(name, None))

    async def close(self) -> None:
        """Close the journal, once all that was handed over is written."""
        await self._ledger.close()

    async def _attempt(self, name: str, worker: str) -> _Attempt:
        """Return an attempt; what another process has that made it before is taken back."""
        self._refuse_lost(worker)
        former = self._attempts.get(name)
        if former is not None and former.worker == worker:
            former.heard = time.monotonic()
            return former
        attempt = self._attempts[name] = _Attempt(worker)
        await self._take_back(former)
        return attempt

    def _refuse_lost(self, worker: str) -> None:
        if worker in self._lost:
            raise WorkerLostError("the run has given this attempt up, or made it again")

    async def _take_back(self, attempt: _Attempt | None) -> None:
        """Take back what an attempt has; only requests that may be on the wire stay charged."""
        if attempt is None:
            return
        self._lost.add(attempt.worker)
        for call in attempt.calls:
            call.cancel()
        self._free_slots(attempt, attempt.slots)
        if attempt.commits:
            await asyncio.wait(attempt.commits)
        while attempt.reservations:
            _, reservation = attempt.reservations.popitem()
            if reservation.has_turn:
                await self._ledger.abandon(reservation)
            else:
                await self._ledger.commit(reservation, 0, 0.0)

    async def _look_up(self, attempt: _Attempt, key: str, tokens: int, usd: float | None) -> _Found:
        """Return the cached reply, or a reservation for a request whose tokens are known."""
        content = await self._ledger.content(key) if key else None
        if content is not None or not tokens:
            return content, None
        with suppress(LanguageModelError):  # raised by `reserve`, where it is asked
            made = await self._ledger.reserve_now(tokens, usd)
            attempt.reservations[made.number] = made
            return None, made
        return None, None

    async def _commit(self, attempt: _Attempt, number: int, *taken: Any) -> None:  # noqa: ANN401
        """Commit what a reservation's request took; an error is that of the next flush."""
        reservation = attempt.reservations.pop(number)
        try:
            await self._ledger.commit(reservation, *taken)
        except Exception as error:  # noqa: BLE001 - raised by the flush
            attempt.error = error

    def _free_slots(self, attempt: _Attempt, number: int) -> None:
        number = min(number, attempt.slots)
        attempt.slots -= number
        for _ in range(number):
            self._free.release()


class LedgerHandle:
    """The actor as the flow sees it; workers get it as it is. As a context it ends the actor."""

    def __init__(self, budget: RunBudget) -> None:
        self._llm = budget.llm
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        actor: Any = ray.remote(LedgerActor)
        self._actor = actor.options(num_cpus=0, scheduling_strategy=here).remote(budget)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(WorkerLostError), translate_ray_errors(_LOST):
            ray.get(self._actor.close.remote())
        self._actor.__ray_terminate__.remote()

    def activity(self) -> Activity:
        """Return the activity of the shards.

        Raises:
            WorkerLostError: The actor's process died.
        """
        with translate_ray_errors(_LOST):
            found: Activity = ray.get(self._actor.activity.remote())
        return found

    def release(self, attempt: str) -> None:
        """Take back the slots and reservations of an attempt that has ended, however it ended."""
        self._actor.release.remote(attempt)

    def ledger(self, attempt: str) -> "RemoteLedger":
        """Return the ledger of a worker, in its own process, for an attempt to judge a shard."""
        return RemoteLedger(self._actor, attempt, self._llm)


class RemoteLedger(Ledger):
    """A model's ledger in a Ray worker, on one event loop; errors of the actor are as there.

    Where the actor's process dies, all calls raise ``WorkerLostError``.

    Args:
        actor: Ray's handle of the actor.
        attempt: Names the attempt to judge a shard.
        llm: The model.
    """

    def __init__(self, actor: Any, attempt: str, llm: LanguageModelSettings) -> None:  # noqa: ANN401 - Ray's
        super().__init__(llm)
        self._actor = actor
        self._attempt = attempt
        self._worker = uuid4().hex
        self._patience_s = llm.timeout_s
        self._judged = 0
        self._released = 0  # slots
        self._lookups: list[tuple[_Lookup, asyncio.Future[_Found]]] = []  # to be sent
        self._commits: list[tuple[Any, ...]] = []  # to be sent: arguments
        self._reserved = defaultdict[tuple[int, float | None], list[Reservation]](list)  # ahead
        self._sending: asyncio.Task[None] | None = None
        self._beating: asyncio.Task[None] | None = None
        self._unwritten: dict[bytes, bytes] = {}  # replies that were committed since a flush

    def patience(self) -> float:
        """Return the seconds after which a request counts as lost, as of the last exchange."""
        return self._patience_s

    async def content(self, key: str, tokens: int = 0, usd: float | None = None) -> bytes | None:
        """Return the cached reply; else the actor reserves, which saves an exchange."""
        if unwritten := self._unwritten.get(bytes.fromhex(key)):
            return zlib.decompress(unwritten)
        found, reservation = await self._look_up(key, tokens, usd)
        if reservation:
            self._reserved[tokens, usd].append(reservation)
        return found

    async def reserve(self, tokens: int, usd: float | None = None) -> Reservation:
        """Reserve tokens and money."""
        if ready := self._reserved[tokens, usd]:
            return ready.pop()
        _, made = await self._look_up("", tokens, usd)
        return made or await self._call(self._actor.reserve, tokens, usd)

    async def wait_for_rate_limit(self, reservation: Reservation) -> Reservation:
        """Wait until a request may be sent."""
        paced: Reservation = await self._call(self._actor.wait_for_rate_limit, reservation)
        return paced

    async def commit(
        self,
        reservation: Reservation,
        tokens: float,
        usd: float | None,
        contents: Sequence[tuple[bytes, bytes]] = (),
        failure: RequestError | None = None,
    ) -> None:
        """Send what a request took on its way to the actor; `flush` waits until it is written.

        Until then the reply counts as on the wire, and is found here.
        """
        self._unwritten |= contents
        self._commits.append((reservation.number, tokens, usd, contents, failure))
        self._send_soon()

    async def flush(self) -> None:
        """Wait until all that was committed is written.

        Raises:
            UnrecordableError: The journal cannot be written.
            WorkerLostError: The actor is lost.
        """
        if self._sending:
            await asyncio.wait([self._sending])
        await self._call(self._actor.flush)
        self._unwritten.clear()

    async def acquire_slots(self, wanted: int) -> int:
        """Wait until a pair more may be judged; return how many may, at most as many as wanted."""
        self._beating = self._beating or asyncio.create_task(self._beat())
        granted: int = await self._call(self._actor.acquire_slots, wanted)
        return granted

    def release_slots(self, number: int) -> None:
        """Let others judge so many pairs."""
        self._released += number
        self._send_soon()

    def count_judged(self) -> None:
        """Count one more judged pair, which the actor hears of with the next call."""
        self._judged += 1

    async def close(self) -> None:
        """Give back all that the attempt has, which then has ended."""
        if self._beating:
            self._beating.cancel()
        for reservation in chain.from_iterable(self._reserved.values()):  # of cancelled requests
            await self.commit(reservation, 0, 0.0)
        with suppress(UnrecordableError, WorkerLostError):
            await self.flush()
        with suppress(WorkerLostError), translate_ray_errors(_LOST):
            await self._actor.release.remote(self._attempt)

    async def _call(self, method: Any, *arguments: Any) -> Any:  # noqa: ANN401 - Ray's
        with translate_ray_errors(_LOST):
            return await method.remote(self._attempt, self._worker, *arguments)

    async def _look_up(self, *lookup: Any) -> _Found:  # noqa: ANN401 - of `_Lookup`
        found: asyncio.Future[_Found] = asyncio.get_running_loop().create_future()
        self._lookups.append((lookup, found))
        self._send_soon()
        return await found

    def _send_soon(self) -> None:
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def _beat(self) -> None:
        """Let the actor hear of this worker, whose pairs may all wait for the model."""
        while True:
            await asyncio.sleep(_HEARTBEAT_S)
            self._send_soon()

    async def _send(self) -> None:
        """Send all that there is, if only a sign of life, and then what came meanwhile."""
        while True:
            sent, self._lookups = self._lookups, []
            commits, self._commits = self._commits, []
            released, self._released = self._released, 0
            lookups = [lookup for lookup, _ in sent]
            try:
                self._patience_s, answers = await self._call(
                    self._actor.rpc_batch, self._judged, released, commits, lookups
                )
            except Exception as error:  # noqa: BLE001 - raised by all that wait
                answers = [error] * len(sent)
            for (_, found), answer in zip(sent, answers, strict=True):
                if not found.done() and isinstance(answer, Exception):
                    found.set_exception(answer)
                elif not found.done():
                    found.set_result(answer)
                elif not isinstance(answer, Exception) and answer[1]:  # who waited was cancelled
                    self._commits.append((answer[1].number, 0, 0.0))
            await asyncio.sleep(_GATHERED_S)
            if not (self._lookups or self._commits or self._released):
                return
