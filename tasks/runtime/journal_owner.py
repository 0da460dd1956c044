"""The owner of a store's journal on a cluster: an actor on the flow's node, asked by handle.

Workers so share with the flow's machine neither disk nor file system. All that they ask at one
moment travels in one call, whose answer has what is done at once; what has to wait for others comes
with a later answer.
"""

import asyncio
import logging
import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, NamedTuple, Self
from uuid import uuid4

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from agents import JournalLedger, Ledger, Reservation, journal_ledger
from infra.budget import Budget
from infra.errors import WorkerLostError
from infra.ray import signals_as_raised
from infra.settings import LanguageModelSettings, StoreSettings
from tasks.runtime.run_logger import run_logger

_WAITING = ("reserve", "acquire_slots")  # calls that may wait for others
_AT_ONCE_S = 0.05  # a call that takes longer waits for others
_GO_ON = "what was paid for is stored: run the same command again"
_LIBRARIES = ("agents", "infra")

_Call = tuple[int, str, tuple[Any, ...]]  # its number, the method, the arguments
_End = tuple[int, Any, Exception | None]  # the call's number, its result, its error


class Terms(NamedTuple):
    """By which rules all workers of a round ask a model.

    Attributes:
        store: Has the journal, on a disk of the flow's machine.
        llm: The model.
        budget: The budget of the run.
        in_flight: How many pairs all workers together judge at once.
    """

    store: StoreSettings
    llm: LanguageModelSettings
    budget: Budget
    in_flight: int

    def ledger(self) -> JournalLedger:
        """Return the model's ledger in the journal."""
        return journal_ledger(self.store, self.llm, self.budget)


@dataclass(eq=False)
class _Attempt:
    """What an attempt to judge a shard has here.

    Attributes:
        name: Names it.
        worker: Tells its process from another one that has made the same attempt.
        calls: Those of which it does not know the end.
        waiting: Those of them that wait for others.
        reservations: Those of requests that may be on the wire.
        slots: Pairs that it may judge at once.
        judged: Pairs that it has judged.
    """

    name: str
    worker: str
    calls: set[asyncio.Task[_End]] = field(default_factory=set)
    waiting: set[asyncio.Task[_End]] = field(default_factory=set)
    reservations: dict[int, Reservation] = field(default_factory=dict)
    slots: int = 0
    judged: int = 0


class AtWork(NamedTuple):
    """What workers do.

    Attributes:
        attempts: How many attempts have not ended.
        judged: How many pairs these have judged.
        warnings: What the owner has warned of since it was asked last.
    """

    attempts: int
    judged: int
    warnings: list[str]


class Owner:
    """The actor: a ledger, and the slots of pairs that all workers judge at once.

    Args:
        terms: Journal, model, budget and slots.
    """

    def __init__(self, terms: Terms) -> None:
        self._ledger = terms.ledger()
        self._free = asyncio.Semaphore(terms.in_flight)
        self._attempts: dict[str, _Attempt] = {}
        self._lost: set[str] = set()  # workers of which all is taken back
        self._warnings = _Warnings()

    async def exchange(self, name: str, worker: str, judged: int, calls: bytes) -> bytes:
        """Make calls of an attempt; return those that have ended at once.

        Without calls, those are returned that had to wait for others, once there are any.

        Args:
            name: The attempt's.
            worker: Its process.
            judged: How many pairs it has judged.
            calls: What it asks for, pickled.

        Raises:
            WorkerLostError: The attempt has ended, or another process makes it.
        """
        self._refuse_lost(worker)
        attempt = self._attempts.get(name)
        if attempt is None or attempt.worker != worker:
            former, attempt = attempt, _Attempt(name, worker)
            self._attempts[name] = attempt
            await self._take_back(former)
        attempt.judged = judged
        made = {
            asyncio.create_task(self._made(attempt, *call), name=call[1])
            for call in pickle.loads(calls)  # noqa: S301 - from this run's own
        }
        attempt.calls |= made
        if made:
            await asyncio.sleep(0)
            at_once = [call for call in made if call.get_name() != "acquire_slots"]
            if at_once:
                await asyncio.wait(at_once, timeout=_AT_ONCE_S)
            ended = {call for call in made if call.done()}
            attempt.waiting |= made - ended
        else:
            ended, _ = await asyncio.wait(attempt.waiting, return_when=asyncio.FIRST_COMPLETED)
            attempt.waiting -= ended
        self._refuse_lost(worker)
        attempt.calls -= ended
        return pickle.dumps([call.result() for call in ended])

    async def at_work(self) -> AtWork:
        """Return what workers do."""
        judged = sum(attempt.judged for attempt in self._attempts.values())
        return AtWork(len(self._attempts), judged, self._warnings.taken())

    async def release(self, name: str) -> None:
        """Take back what an attempt has that has ended, however it ended."""
        await self._take_back(self._attempts.pop(name, None))

    async def _take_back(self, attempt: _Attempt | None) -> None:
        """Take back what an attempt has; only requests that may be on the wire stay charged."""
        if attempt is None:
            return
        self._lost.add(attempt.worker)
        for call in attempt.calls:
            if call.get_name() in _WAITING:
                call.cancel()
        await self._release_slots(attempt, attempt.slots)
        granted = [call.result()[1] for call in attempt.calls if _is_ended(call)]
        unknown = {grant.number for grant in granted if isinstance(grant, Reservation)}
        while attempt.reservations:
            number, reservation = attempt.reservations.popitem()
            if number in unknown:
                await self._ledger.commit(reservation, 0, 0.0)
            else:
                await self._ledger.abandon(reservation)

    async def close(self) -> list[str]:
        """Write what was handed over, and close the journal; return warnings as `at_work`."""
        await self._ledger.close()
        return self._warnings.taken()

    def _refuse_lost(self, worker: str) -> None:
        if worker in self._lost:
            raise WorkerLostError("the run has given this attempt up, or made it again")

    async def _made(
        self, attempt: _Attempt, number: int, method: str, arguments: tuple[Any, ...]
    ) -> _End:
        """Make a call; return how it ended."""
        try:
            return number, await self._result(attempt, method, arguments), None
        except Exception as error:  # noqa: BLE001 - raised where the call was made
            return number, None, error

    async def _result(self, attempt: _Attempt, method: str, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401
        own = {"acquire_slots": self._acquire_slots, "release_slots": self._release_slots}
        if method in own:
            return await own[method](attempt, *arguments)
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


class _Warnings(logging.Handler):
    """What our libraries have warned of in this process."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._texts: list[str] = []
        for name in _LIBRARIES:
            logging.getLogger(name).addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a warning."""
        self._texts.append(record.getMessage())

    def taken(self) -> list[str]:
        """Return the warnings, each once."""
        taken, self._texts = self._texts, []
        return taken


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
            _warn(ray.get(self._actor.close.remote()))
        self._actor.__ray_terminate__.remote()

    def at_work(self) -> tuple[int, int]:
        """Return how many shards are at work, and how many pairs these have judged.

        What the owner has warned of is said in the log of the run.

        Raises:
            WorkerLostError: The owner's process died.
        """
        with _explained():
            attempts, judged, warnings = ray.get(self._actor.at_work.remote())
        _warn(warnings)
        return attempts, judged

    def release(self, attempt: str) -> None:
        """Take back the slots and reservations of an attempt that has ended, however it ended."""
        self._actor.release.remote(attempt)

    def ledger(self, attempt: str) -> "WorkerLedger":
        """Return the ledger of a worker, in its own process, for an attempt to judge a shard."""
        return WorkerLedger(self._actor, attempt, self._terms)


class WorkerLedger(Ledger):
    """A model's ledger in a Ray worker, on one event loop; errors of the owner are as there.

    Where the owner's process dies, all calls raise ``WorkerLostError``.

    Args:
        actor: Ray's handle of the owner.
        attempt: Names the attempt to judge a shard.
        terms: The model and its budget.
    """

    def __init__(self, actor: Any, attempt: str, terms: Terms) -> None:  # noqa: ANN401 - Ray's
        super().__init__(terms.llm, terms.budget)
        self._actor = actor
        self._attempt = attempt
        self._worker = uuid4().hex
        self._judged = 0
        self._numbers = count()
        self._calls: list[_Call] = []  # to be sent
        self._ends: dict[int, tuple[str, asyncio.Future[Any]]] = {}  # number → name and end
        self._waiting: set[int] = set()  # calls that wait at the owner
        self._commits: set[asyncio.Future[None]] = set()
        self._unwritten: dict[bytes, bytes] = {}  # replies that are on their way to the owner
        self._error: BaseException | None = None  # of a commit
        self._sending: asyncio.Task[None] | None = None
        self._asking_for: asyncio.Task[None] | None = None

    async def content(self, key: str) -> bytes | None:
        """Return what is kept for a key."""
        if unwritten := self._unwritten.get(bytes.fromhex(key)):
            return zlib.decompress(unwritten)
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
        """Send what a request took on its way to the owner; `flush` waits until it is written.

        Until then the reply counts as on the wire, and is found here.
        """
        replies = dict(contents)
        self._unwritten |= replies
        end = self._call("commit", reservation, tokens, usd, contents)
        self._commits.add(end)
        end.add_done_callback(partial(self._forget, replies.keys()))

    async def flush(self) -> None:
        """Wait until all that was committed is written.

        Raises:
            UnrecordableError: The journal cannot be written.
            WorkerLostError: The owner is lost.
        """
        if self._commits:
            await asyncio.wait(self._commits)
        if self._error:
            raise self._error

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

    def count_judged(self) -> None:
        """Count one more judged pair, which the owner hears of with the next call."""
        self._judged += 1

    async def close(self) -> None:
        """Give back all that the attempt has, which then has ended."""
        if self._commits:
            await asyncio.wait(self._commits)
        with suppress(WorkerLostError), _explained():
            await self._actor.release.remote(self._attempt)

    def _forget(self, keys: Iterable[bytes], end: "asyncio.Future[None]") -> None:
        """Forget replies that are written, or why they are not."""
        self._commits.discard(end)
        for key in keys:
            self._unwritten.pop(key, None)
        self._error = self._error or end.exception()

    def _call(self, name: str, *arguments: Any) -> "asyncio.Future[Any]":  # noqa: ANN401
        number, end = next(self._numbers), asyncio.get_running_loop().create_future()
        self._ends[number] = name, end
        self._calls.append((number, name, arguments))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())
        return end

    async def _send(self) -> None:
        """Send all calls that there are in one exchange, and then those that came meanwhile."""
        while self._calls:
            calls, self._calls = self._calls, []
            await self._exchange(calls)
            self._waiting |= {number for number, *_ in calls} & self._ends.keys()
            if self._waiting and (self._asking_for is None or self._asking_for.done()):
                self._asking_for = asyncio.create_task(self._ask_for_waiting())
            await asyncio.sleep(0)  # those who have waited ask for more

    async def _ask_for_waiting(self) -> None:
        while self._waiting:
            await self._exchange([])

    async def _exchange(self, calls: list[_Call]) -> None:
        try:
            with _explained():
                content = await self._actor.exchange.remote(
                    self._attempt, self._worker, self._judged, pickle.dumps(calls)
                )
            ends: list[_End] = pickle.loads(content)  # noqa: S301 - from this run's own
        except Exception as error:  # noqa: BLE001 - raised by all that wait
            ends = [(number, None, error) for number in self._ends]
            self._calls = []
        for ended in ends:
            self._take(*ended)

    def _take(self, number: int, result: Any, error: Exception | None) -> None:  # noqa: ANN401
        self._waiting.discard(number)
        name, end = self._ends.pop(number)
        if not end.done():
            end.set_exception(error) if error else end.set_result(result)
        elif name == "reserve" and result:  # who waited was cancelled
            self._call("commit", result, 0, 0.0)
        elif name == "acquire_slots" and result:
            self._call("release_slots", result)


def _is_ended(call: asyncio.Task[_End]) -> bool:
    return call.done() and not call.cancelled()


def _warn(warnings: list[str]) -> None:
    for warning in warnings:
        run_logger(__name__).warning(warning)


@contextmanager
def _explained() -> Iterator[None]:
    """Turn the loss of the owner into this project's error."""
    try:
        with signals_as_raised():
            yield
    except RayError as error:
        raise WorkerLostError(f"the journal's owner does not answer: {error}; {_GO_ON}") from error
