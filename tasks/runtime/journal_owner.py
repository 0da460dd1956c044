"""The owner of a store's journal on a cluster: an actor on the flow's node, asked by handle.

Workers so share with the flow's machine neither disk nor file system. All that they ask at one
moment travels in one call, and what has ended meanwhile comes back with the next answer.
"""

import asyncio
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self
from uuid import uuid4

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from agents import Ledger, Reservation, journal_ledger
from infra.budget import Budget, budgets_of
from infra.errors import WorkerLostError
from infra.ray import signals_as_raised
from infra.settings import LanguageModelSettings, StoreSettings

_WAITING = ("reserve", "acquire_slots")  # calls that may wait for others
_GO_ON = "what was paid for is stored: run the same command again"


_Call = tuple[int, str, tuple[Any, ...]]  # its number, the method, the arguments
_End = tuple[int, Any, Exception | None]  # the call's number, its result, its error


@dataclass(eq=False)
class _Attempt:
    """What an attempt to judge a shard has here.

    Attributes:
        name: Names it.
        worker: Tells its process from another one that has made the same attempt.
        waiting: Calls that wait.
        ends: Calls that have ended, of which it does not know.
        reservations: Those of requests that may be on the wire.
        slots: Pairs that it may judge at once.
        judged: Pairs that it has judged.
        asked: Its last request for ends, while it waits for some.
    """

    name: str
    worker: str
    waiting: set[asyncio.Task[None]] = field(default_factory=set)
    ends: list[_End] = field(default_factory=list)
    reservations: dict[int, Reservation] = field(default_factory=dict)
    slots: int = 0
    judged: int = 0
    asked: "asyncio.Future[None] | None" = None

    def answer(self) -> None:
        """Answer its last request."""
        if self.asked and not self.asked.done():
            self.asked.set_result(None)


class Owner:
    """The actor: a ledger, and the slots of pairs that all workers judge at once.

    Args:
        store: Has the journal, on a disk of this machine.
        llm: The model.
        budget: The budget of the run.
        in_flight: How many pairs all workers together judge at once.
    """

    def __init__(
        self, store: StoreSettings, llm: LanguageModelSettings, budget: Budget, in_flight: int
    ) -> None:
        self._ledger = journal_ledger(store, llm, budget)
        self._free = asyncio.Semaphore(in_flight)
        self._attempts: dict[str, _Attempt] = {}
        self._lost: set[str] = set()  # workers of which all is taken back
        self._running: set[asyncio.Task[None]] = set()

    async def exchange(self, name: str, worker: str, calls: bytes) -> bytes:
        """Begin calls of an attempt; return those that have ended, once there are any.

        A later exchange of the same attempt takes its place.

        Raises:
            WorkerLostError: The attempt has ended, or another process makes it.
        """
        self._refuse_lost(worker)
        attempt = self._attempts.get(name)
        if attempt is None or attempt.worker != worker:
            former, attempt = attempt, _Attempt(name, worker)
            self._attempts[name] = attempt
            await self._take_back(former)
        for number, method, arguments in pickle.loads(calls):  # noqa: S301 - from this run's own
            task = asyncio.create_task(self._make(attempt, number, method, arguments))
            tasks = attempt.waiting if method in _WAITING else self._running
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        attempt.answer()
        attempt.asked = asyncio.get_running_loop().create_future()
        if not attempt.ends:
            await attempt.asked
        if not attempt.ends:
            self._refuse_lost(worker)
        ends, attempt.ends = attempt.ends, []
        return pickle.dumps(ends)

    async def at_work(self) -> tuple[int, int]:
        """Return how many attempts have not ended, and how many pairs these have judged."""
        return len(self._attempts), sum(attempt.judged for attempt in self._attempts.values())

    async def release(self, name: str) -> None:
        """Take back what an attempt has that has ended, however it ended."""
        await self._take_back(self._attempts.pop(name, None))

    async def _take_back(self, attempt: _Attempt | None) -> None:
        """Take back what an attempt has; only requests that may be on the wire stay charged."""
        if attempt is None:
            return
        self._lost.add(attempt.worker)
        for task in attempt.waiting:
            task.cancel()
        await self._release_slots(attempt, attempt.slots)
        unknown = {end.number for _, end, _ in attempt.ends if isinstance(end, Reservation)}
        while attempt.reservations:
            number, reservation = attempt.reservations.popitem()
            if number in unknown:
                await self._ledger.commit(reservation, 0, 0.0)
            else:
                await self._ledger.abandon(reservation)

    async def close(self) -> None:
        """Write what was handed over, and close the journal."""
        await self._ledger.close()

    def _refuse_lost(self, worker: str) -> None:
        if worker in self._lost:
            raise WorkerLostError("the run has given this attempt up, or made it again")

    async def _make(
        self, attempt: _Attempt, number: int, method: str, arguments: tuple[Any, ...]
    ) -> None:
        """Make a call and note how it ended."""
        try:
            result = await self._result(attempt, method, arguments)
            attempt.ends.append((number, result, None))
        except Exception as error:  # noqa: BLE001 - raised where the call was made
            attempt.ends.append((number, None, error))
        finally:
            attempt.answer()

    async def _result(self, attempt: _Attempt, method: str, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401
        own = {"acquire_slots": self._acquire_slots, "release_slots": self._release_slots}
        if method == "count_judged":
            attempt.judged += 1
            return None
        if method in own:
            return await own[method](attempt, *arguments)
        if method == "release":
            return await self.release(attempt.name)
        if method in ("commit", "abandon"):
            attempt.reservations.pop(arguments[0].number, None)
        result = await getattr(self._ledger, method)(*arguments)
        if method == "reserve":
            attempt.reservations[result.number] = result
        return result

    async def _acquire_slots(self, attempt: _Attempt, wanted: int) -> int:
        await self._free.acquire()
        granted = 1
        while granted < wanted and not self._free.locked():
            await self._free.acquire()
            granted += 1
        attempt.slots += granted
        return granted

    async def _release_slots(self, attempt: _Attempt, number: int) -> None:
        number = min(number, attempt.slots)
        attempt.slots -= number
        for _ in range(number):
            self._free.release()


class JournalOwner:
    """The owner as the flow sees it; workers get it as it is. As a context it ends the actor.

    Args:
        store: Has the journal, on a disk of this machine.
        llm: The model.
        budget: The budget of the run.
        in_flight: How many pairs all workers together judge at once.
    """

    def __init__(
        self, store: StoreSettings, llm: LanguageModelSettings, budget: Budget, in_flight: int
    ) -> None:
        self._llm = llm
        self._is_in_usd = any(each.limit_usd is not None for each in budgets_of(llm, budget))
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        actor: Any = ray.remote(Owner)
        placed = actor.options(num_cpus=0, scheduling_strategy=here)
        self._actor = placed.remote(store, llm, budget, in_flight)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(WorkerLostError), _explained():
            ray.get(self._actor.close.remote())
        self._actor.__ray_terminate__.remote()

    def at_work(self) -> tuple[int, int]:
        """Return how many shards are at work, and how many pairs these have judged.

        Raises:
            WorkerLostError: The owner's process died.
        """
        with _explained():
            numbers: tuple[int, int] = ray.get(self._actor.at_work.remote())
        return numbers

    def release(self, attempt: str) -> None:
        """Take back the slots and reservations of an attempt that has ended, however it ended."""
        self._actor.release.remote(attempt)

    def ledger(self, attempt: str) -> "WorkerLedger":
        """Return the ledger of a worker, in its own process, for an attempt to judge a shard."""
        return WorkerLedger(self._actor, attempt, self._llm, is_in_usd=self._is_in_usd)


class WorkerLedger(Ledger):
    """A model's ledger in a Ray worker, on one event loop; errors of the owner are as there.

    Where the owner's process dies, all calls raise ``WorkerLostError``.

    Args:
        actor: Ray's handle of the owner.
        attempt: Names the attempt to judge a shard.
        settings: The model.
        is_in_usd: Whether a budget in US dollars is in force.
    """

    def __init__(
        self,
        actor: Any,  # noqa: ANN401 - Ray's handle
        attempt: str,
        settings: LanguageModelSettings,
        *,
        is_in_usd: bool,
    ) -> None:
        super().__init__(settings, is_in_usd=is_in_usd)
        self._actor = actor
        self._attempt = attempt
        self._worker = uuid4().hex
        self._numbers = count()
        self._calls: list[_Call] = []  # to be sent
        self._ends: dict[int, tuple[str, asyncio.Future[Any]]] = {}  # number → name and end
        self._exchanges: set[asyncio.Task[None]] = set()
        self._last: asyncio.Task[None] | None = None

    async def content(self, key: str) -> bytes | None:
        """Return what is kept for a key."""
        found: bytes | None = await self._call("content", key)
        return found

    async def reserve(self, tokens: int, usd: float | None = None) -> Reservation:
        """Reserve tokens and money, and wait for the request's turn."""
        made: Reservation = await self._call("reserve", tokens, usd)
        return made

    async def commit(
        self,
        reservation: Reservation,
        tokens: float,
        usd: float | None,
        contents: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        """Replace a reservation by what its request took."""
        await self._call("commit", reservation, tokens, usd, contents)

    async def abandon(self, reservation: Reservation) -> None:
        """Let a reservation stay."""
        await self._call("abandon", reservation)

    async def acquire_slots(self, wanted: int) -> int:
        """Wait until a pair more may be judged; return how many may, at most as many as wanted."""
        granted: int = await self._call("acquire_slots", wanted)
        return granted

    async def release_slots(self, number: int) -> None:
        """Let others judge so many pairs."""
        await self._call("release_slots", number)

    async def count_judged(self) -> None:
        """Tell that one more pair is judged."""
        await self._call("count_judged")

    async def close(self) -> None:
        """Give back all that the attempt has, which then has ended."""
        with suppress(WorkerLostError):
            await self._call("release")

    def _call(self, name: str, *arguments: Any) -> "asyncio.Future[Any]":  # noqa: ANN401
        loop = asyncio.get_running_loop()
        number, end = next(self._numbers), loop.create_future()
        self._ends[number] = name, end
        self._calls.append((number, name, arguments))
        if len(self._calls) == 1:
            loop.call_soon(self._send)
        return end

    def _send(self) -> None:
        """Send what this turn of the loop asks for, unless an exchange has taken it along."""
        if self._calls:
            self._last = asyncio.create_task(self._exchange())
            self._exchanges.add(self._last)
            self._last.add_done_callback(self._exchanges.discard)

    async def _exchange(self) -> None:
        """Send calls and take ends, as long as any is awaited and nobody else takes them."""
        while self._calls or (self._ends and self._last is asyncio.current_task()):
            calls, self._calls = self._calls, []
            try:
                with _explained():
                    content = await self._actor.exchange.remote(
                        self._attempt, self._worker, pickle.dumps(calls)
                    )
                ends: list[_End] = pickle.loads(content)  # noqa: S301 - from this run's own
            except Exception as error:  # noqa: BLE001 - raised by all that wait
                lost, self._ends = self._ends, {}
                for _, end in lost.values():
                    if not end.done():
                        end.set_exception(error)
                return
            for ended in ends:
                self._take(*ended)
            await asyncio.sleep(0)  # those who have waited ask for more

    def _take(self, number: int, result: Any, error: Exception | None) -> None:  # noqa: ANN401
        name, end = self._ends.pop(number)
        if not end.done():
            end.set_exception(error) if error else end.set_result(result)
        elif name == "reserve" and result:  # who waited was cancelled
            self._call("commit", result, 0, 0.0)
        elif name == "acquire_slots" and result:
            self._call("release_slots", result)


@contextmanager
def _explained() -> Iterator[None]:
    """Turn the loss of the owner into this project's error."""
    try:
        with signals_as_raised():
            yield
    except RayError as error:
        raise WorkerLostError(f"the journal's owner does not answer: {error}; {_GO_ON}") from error
