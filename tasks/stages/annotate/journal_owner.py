"""The owner of a store's journal on a cluster: an actor on the flow's node, asked by handle.

Workers so share with the flow's machine neither disk nor file system. All that they ask of the
journal at one moment travels in one call.
"""

import asyncio
import pickle
import time
import zlib
from collections import defaultdict
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple, Self, TypeVar, cast
from uuid import uuid4

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from agents import JournalLedger, Ledger, RequestError, Reservation, journal_ledger
from infra.budget import Budget
from infra.errors import (
    BudgetExhaustedError,
    LanguageModelError,
    UnrecordableError,
    WorkerLostError,
)
from infra.ray import signals_as_raised
from infra.settings import LanguageModelSettings, StoreSettings

_GATHERED_S = 0.004  # for which calls wait for others: an exchange costs more than what it carries
_HEARTBEAT_S = 10.0  # between signs of life of a worker, which waits for its model otherwise
_SILENT_S = 30.0  # after which a worker counts as dead, and its slots are free
_GO_ON = "what was paid for is stored: run the same command again"

_Call = tuple[str, tuple[Any, ...]]  # a method of the ledger, its arguments
_End = tuple[Any, Exception | None]  # the call's result, its error
_Result = TypeVar("_Result")


class Terms(NamedTuple):
    """The journal's store, the model, the run's budget, and the pairs to be judged at once."""

    store: StoreSettings
    llm: LanguageModelSettings
    budget: Budget
    in_flight: int

    def ledger(self) -> JournalLedger:
        """Return the model's ledger in the journal."""
        return journal_ledger(self.store, self.llm, self.budget)


@dataclass(eq=False)
class _Attempt:
    """The state of an attempt to judge a shard."""

    worker: str  # its process, which another try of the same attempt does not have
    waiting: set[asyncio.Task[Any]] = field(default_factory=set)  # calls that wait for others
    reservations: dict[int, Reservation] = field(default_factory=dict)
    unsent: set[int] = field(default_factory=set)  # numbers of those that wait for their turn
    commits: set[asyncio.Task[Any]] = field(default_factory=set)  # that are being written
    error: Exception | None = None  # of a commit
    slots: int = 0  # pairs that it may judge at once
    judged: int = 0  # pairs
    heard: float = field(default_factory=time.monotonic)  # when its worker last called


class Owner:
    """The actor: a ledger, and the slots of pairs that all workers judge at once.

    Each method that takes an attempt's name and its worker's process raises ``WorkerLostError``
    where the attempt has ended, or another process makes it.

    Args:
        terms: Journal, model, budget and slots.
    """

    def __init__(self, terms: Terms) -> None:
        self._ledger = terms.ledger()
        self._free = asyncio.Semaphore(terms.in_flight)
        self._attempts: dict[str, _Attempt] = {}
        self._lost: set[str] = set()  # workers of which all is taken back

    async def exchange(
        self, name: str, worker: str, judged: int, released: int, calls: bytes, commits: bytes
    ) -> bytes:
        """Make calls of the ledger, pickled; return how they ended, in their order.

        Commits are made meanwhile: their first error is that of the next ``flush``.
        """
        attempt = await self._attempt(name, worker)
        attempt.judged = judged
        self._free_slots(attempt, released)
        for commit in pickle.loads(commits):  # noqa: S301 - from this run's own worker
            writing = asyncio.create_task(self._commit(attempt, *commit))
            attempt.commits.add(writing)
            writing.add_done_callback(attempt.commits.discard)
        made = [self._end_of(attempt, *call) for call in pickle.loads(calls)]  # noqa: S301 - as above
        ends = await asyncio.gather(*made)
        self._refuse_lost(worker)
        return pickle.dumps(ends)

    async def take_turn(self, name: str, worker: str, reservation: Reservation) -> Reservation:
        """Wait until a request may be sent."""
        attempt = await self._attempt(name, worker)
        number = reservation.number
        attempt.unsent.add(number)
        try:
            paced = await self._wait(attempt, self._ledger.take_turn(reservation))
        finally:
            attempt.unsent.discard(number)
        if number in attempt.reservations:  # else its request was cancelled meanwhile
            attempt.reservations[number] = paced
        return paced

    async def reserve(self, name: str, worker: str, *most: Any) -> _End:  # noqa: ANN401
        """Reserve what others may have to give back first; return it, or its error."""
        attempt = await self._attempt(name, worker)
        try:
            made = await self._wait(attempt, self._ledger.reserve(*most))
        except LanguageModelError as error:
            return None, error
        attempt.unsent.add(made.number)
        return await self._held(attempt, made), None

    async def acquire_slots(self, name: str, worker: str, wanted: int) -> int:
        """Wait for a slot; return how many there are now, at most as many as wanted."""
        attempt = await self._attempt(name, worker)
        await self._wait(attempt, self._free.acquire())
        granted = 1
        while granted < wanted and not self._free.locked():
            await self._free.acquire()
            granted += 1
        attempt.slots += granted
        return granted

    async def at_work(self) -> tuple[int, int, str]:
        """Return how many attempts are at work, how many pairs all have judged, and their trouble.

        The slots of dead workers are free from then on: the next try of such an attempt may have to
        wait for those at work. What it has reserved stays reserved, until then or its release.
        """
        limit, at_work, judged = time.monotonic() - _SILENT_S, 0, 0
        for attempt in self._attempts.values():
            judged += attempt.judged
            if attempt.heard > limit:
                at_work += 1
            else:
                self._free_slots(attempt, attempt.slots)
        return at_work, judged, self._ledger.trouble

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
        for call in attempt.waiting:
            call.cancel()
        self._free_slots(attempt, attempt.slots)
        if attempt.commits:
            await asyncio.wait(attempt.commits)
        unsent = set(attempt.unsent)
        while attempt.reservations:
            number, reservation = attempt.reservations.popitem()
            if number in unsent:
                await self._ledger.commit(reservation, 0, 0.0)
            else:
                await self._ledger.abandon(reservation)

    async def _end_of(self, attempt: _Attempt, method: str, arguments: tuple[Any, ...]) -> _End:
        """Make a call; return its result or its error."""
        try:
            match method:
                case "flush":
                    await self._flush(attempt)
                    return None, None
                case "reserve":
                    return await self._reserve(attempt, *arguments), None
                case "patience":
                    return await self._ledger.patience(), None
                case "content":
                    return await self._content_or_reservation(attempt, *arguments), None
        except Exception as error:  # noqa: BLE001 - raised where the call was made
            return None, error
        raise AssertionError(method)

    async def _content_or_reservation(
        self, attempt: _Attempt, key: str, tokens: int, usd: float | None
    ) -> tuple[bytes | None, Reservation | None]:
        """Return the cached reply, or reserve budget for a request whose tokens are known."""
        content = await self._ledger.content(key)
        if content is not None or not tokens:
            return content, None
        try:
            return None, await self._reserve(attempt, tokens, usd)
        except LanguageModelError:  # raised by `reserve`, where it is asked
            return None, None

    async def _reserve(self, attempt: _Attempt, tokens: int, usd: float | None) -> Reservation:
        return await self._held(attempt, await self._ledger.reserve_now(tokens, usd))

    async def _held(self, attempt: _Attempt, made: Reservation) -> Reservation:
        """Return a reservation, which the attempt holds if it has not ended meanwhile."""
        if attempt.worker in self._lost:
            await self._ledger.commit(made, 0, 0.0)
        else:
            attempt.reservations[made.number] = made
        return made

    async def _commit(self, attempt: _Attempt, reservation: Reservation, *taken: Any) -> None:  # noqa: ANN401
        """Commit; an error is that of the next flush."""
        attempt.reservations.pop(reservation.number, None)
        try:
            await self._ledger.commit(reservation, *taken)
        except Exception as error:  # noqa: BLE001 - raised by the flush
            attempt.error = error

    async def _flush(self, attempt: _Attempt) -> None:
        """Wait until an attempt's commits are written; raise the error of one that was not."""
        if attempt.commits:
            await asyncio.wait(attempt.commits)
        if attempt.error:
            raise attempt.error

    async def _wait(self, attempt: _Attempt, call: Coroutine[Any, Any, _Result]) -> _Result:
        """Wait for what others let go of, until the attempt ends."""
        waiting = asyncio.create_task(call)
        attempt.waiting.add(waiting)
        try:
            return await waiting
        except asyncio.CancelledError:
            self._refuse_lost(attempt.worker)
            raise
        finally:
            attempt.waiting.discard(waiting)

    def _free_slots(self, attempt: _Attempt, number: int) -> None:
        number = min(number, attempt.slots)
        attempt.slots -= number
        for _ in range(number):
            self._free.release()


class JournalOwner:
    """The owner as the flow sees it; workers get it as it is. As a context it ends the actor.

    Args:
        terms: Journal, model, budget and slots.
    """

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        actor: Any = ray.remote(Owner)
        self._actor = actor.options(num_cpus=0, scheduling_strategy=here).remote(terms)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(WorkerLostError), _explained():
            ray.get(self._actor.close.remote())
        self._actor.__ray_terminate__.remote()

    def at_work(self) -> tuple[int, int, str]:
        """Return how many shards are at work, how many pairs these have judged, and what they lack.

        The last is what requests wait for, such as a server that does not answer; "" for nothing.

        Raises:
            WorkerLostError: The owner's process died.
        """
        with _explained():
            found: tuple[int, int, str] = ray.get(self._actor.at_work.remote())
        return found

    def release(self, attempt: str) -> None:
        """Take back the slots and reservations of an attempt that has ended, however it ended."""
        self._actor.release.remote(attempt)

    def ledger(self, attempt: str) -> "WorkerLedger":
        """Return the ledger of a worker, in its own process, for an attempt to judge a shard."""
        return WorkerLedger(self._actor, attempt, self._terms.llm)


class WorkerLedger(Ledger):
    """A model's ledger in a Ray worker, on one event loop; errors of the owner are as there.

    Where the owner's process dies, all calls raise ``WorkerLostError``.

    Args:
        actor: Ray's handle of the owner.
        attempt: Names the attempt to judge a shard.
        llm: The model.
    """

    def __init__(self, actor: Any, attempt: str, llm: LanguageModelSettings) -> None:  # noqa: ANN401 - Ray's
        super().__init__(llm)
        self._actor = actor
        self._attempt = attempt
        self._worker = uuid4().hex
        self._judged = 0
        self._released = 0  # slots
        self._calls: list[tuple[_Call, asyncio.Future[Any]]] = []  # to be sent, with their ends
        self._commits: list[tuple[Any, ...]] = []  # to be sent: arguments
        self._reserved = defaultdict[tuple[int, float | None], list[Reservation]](list)  # ahead
        self._sending: asyncio.Task[None] | None = None
        self._beating: asyncio.Task[None] | None = None
        self._unwritten: dict[bytes, bytes] = {}  # replies that were committed since a flush

    async def content(self, key: str, tokens: int = 0, usd: float | None = None) -> bytes | None:
        """Return the cached reply; else the owner reserves, which saves an exchange."""
        if unwritten := self._unwritten.get(bytes.fromhex(key)):
            return zlib.decompress(unwritten)
        found, reservation = await self._call("content", key, tokens, usd)
        if reservation:
            self._reserved[tokens, usd].append(reservation)
        return cast("bytes | None", found)

    async def reserve(self, tokens: int, usd: float | None = None) -> Reservation:
        """Reserve tokens and money."""
        if ready := self._reserved[tokens, usd]:
            return ready.pop()
        try:
            made: Reservation = await self._call("reserve", tokens, usd)
        except UnrecordableError:
            raise
        except BudgetExhaustedError:
            with _explained():
                made, error = await self._actor.reserve.remote(
                    self._attempt, self._worker, tokens, usd
                )
            if error:
                raise error from None
        return made

    async def patience(self) -> float:
        """Return the seconds after which a request counts as lost."""
        seconds: float = await self._call("patience")
        return seconds

    async def take_turn(self, reservation: Reservation) -> Reservation:
        """Wait until a request may be sent."""
        with _explained():
            paced: Reservation = await self._actor.take_turn.remote(
                self._attempt, self._worker, reservation
            )
        return paced

    async def commit(
        self,
        reservation: Reservation,
        tokens: float,
        usd: float | None,
        contents: Sequence[tuple[bytes, bytes]] = (),
        failure: RequestError | None = None,
    ) -> None:
        """Send what a request took on its way to the owner; `flush` waits until it is written.

        Until then the reply counts as on the wire, and is found here.
        """
        self._unwritten |= contents
        self._commits.append((reservation, tokens, usd, contents, failure))
        self._send_soon()

    async def flush(self) -> None:
        """Wait until all that was committed is written.

        Raises:
            UnrecordableError: The journal cannot be written.
            WorkerLostError: The owner is lost.
        """
        await self._call("flush")
        self._unwritten.clear()

    async def acquire_slots(self, wanted: int) -> int:
        """Wait until a pair more may be judged; return how many may, at most as many as wanted."""
        self._beating = self._beating or asyncio.create_task(self._beat())
        with _explained():
            granted: int = await self._actor.acquire_slots.remote(
                self._attempt, self._worker, wanted
            )
        return granted

    def release_slots(self, number: int) -> None:
        """Let others judge so many pairs."""
        self._released += number
        self._send_soon()

    def count_judged(self) -> None:
        """Count one more judged pair, which the owner hears of with the next call."""
        self._judged += 1

    async def close(self) -> None:
        """Give back all that the attempt has, which then has ended."""
        if self._beating:
            self._beating.cancel()
        for reservation in chain.from_iterable(self._reserved.values()):  # of cancelled requests
            self._commits.append((reservation, 0, 0.0))
        with suppress(UnrecordableError, WorkerLostError):
            await self._call("flush")
        with suppress(WorkerLostError), _explained():
            await self._actor.release.remote(self._attempt)

    def _call(self, method: str, *arguments: Any) -> "asyncio.Future[Any]":  # noqa: ANN401
        end: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls.append(((method, arguments), end))
        self._send_soon()
        return end

    def _send_soon(self) -> None:
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def _beat(self) -> None:
        """Let the owner hear of this worker, whose pairs may all wait for the model."""
        while True:
            await asyncio.sleep(_HEARTBEAT_S)
            self._send_soon()

    async def _send(self) -> None:
        """Send all that there is, if only a sign of life, and then what came meanwhile."""
        while True:
            sent, self._calls = self._calls, []
            commits, self._commits = self._commits, []
            released, self._released = self._released, 0
            try:
                with _explained():
                    calls = pickle.dumps([call for call, _ in sent])
                    content = await self._actor.exchange.remote(
                        self._attempt, self._worker, self._judged, released, calls,
                        pickle.dumps(commits),
                    )  # fmt: skip
                ends: list[_End] = pickle.loads(content)  # noqa: S301 - from this run's own
            except Exception as error:  # noqa: BLE001 - raised by all that wait
                ends = [(None, error)] * len(sent)
            for ((method, _), end), (result, problem) in zip(sent, ends, strict=True):
                if not end.done():
                    end.set_exception(problem) if problem else end.set_result(result)
                    continue
                made = result[1] if method == "content" and result else result
                if isinstance(made, Reservation):  # who waited was cancelled
                    self._commits.append((made, 0, 0.0))
            await asyncio.sleep(_GATHERED_S)
            if not (self._calls or self._commits or self._released):
                return


@contextmanager
def _explained() -> Iterator[None]:
    """Turn the loss of the owner into this project's error."""
    try:
        with signals_as_raised():
            yield
    except RayError as error:
        raise WorkerLostError(f"the journal's owner does not answer: {error}; {_GO_ON}") from error
