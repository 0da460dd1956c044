"""The ledger of a model: replies that were paid for, what was spent, and the pace of requests.

`Ledger` is all that a client of a model knows of it. `JournalLedger` works on a store's journal in
this process; `tasks.stages.annotate.ledger_actor` has that of a Ray worker, which asks the
process that has the journal.
"""

import asyncio
import logging
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from itertools import count
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from pydantic import ValidationError

from agents.llm.limiter import Limiter
from agents.llm.reply import RawReply
from agents.llm.retry import RequestError
from infra.budget import Budget, Budgets
from infra.errors import RunStopError, UnknownPriceError, UnrecordableError
from infra.files import OTHER_STORE, free_bytes
from infra.journal import Journal, keep_all, money, packed
from infra.settings import LanguageModelSettings, StoreSettings

_SMOOTHING = 0.95  # weight of the mean of earlier requests against the last one
_LATE_S = 0.1  # a request that is sent so much too late does not put off the next one
_LONGEST_PAUSE_S = 3_600.0  # that tokens which were spent may put off a request
_LONGEST_WAIT_S = 1.0  # then requests may have taken fewer tokens than expected
_ROOM_MB = 64  # what replies in flight may take on the disk
_LOOK_S = 1.0  # between looks at it

_log = logging.getLogger(__name__)

Contents = Sequence[tuple[bytes, bytes]]
Commit = Callable[..., Awaitable[None]]  # tokens, US dollars, replies: see `Ledger.reserved`
_Reply = TypeVar("_Reply")


class Reservation(NamedTuple):
    """The most that one request may take; it counts as spent until what it took is known.

    Attributes:
        number: Tells it from the others of its ledger.
        tokens: The most tokens.
        usd: The most US dollars; the highest price so far where the model's is unknown.
        is_priced: Whether that follows from the model's price.
        paced_tokens: Tokens that count for the limit of tokens a minute; 0 before its turn.
        has_turn: Whether the request may be sent.
        is_last: Whether it is not to be repeated, as the provider has not answered for minutes.
        is_ahead: Whether it is sent before those that wait for the server's pace.
    """

    number: int
    tokens: float
    usd: float
    is_priced: bool
    paced_tokens: float = 0.0
    has_turn: bool = False
    is_last: bool = False
    is_ahead: bool = False


class Ledger(ABC):
    """A model's ledger, as its clients see it.

    A reservation is what a request may cost at most, which is several times what it usually costs.
    A request waits while others in flight may give back what it lacks, and is refused after that.

    Args:
        settings: The model's time-out.
    """

    def __init__(self, settings: LanguageModelSettings) -> None:
        self._timeout_s = settings.timeout_s
        self._asked: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._is_stopped = False

    def stop(self) -> None:
        """Let no more requests be sent: who reserves now, or waits for that, is cancelled."""
        self._is_stopped = True

    @abstractmethod
    async def content(self, key: str, tokens: int = 0, usd: float | None = None) -> bytes | None:
        """Return the content stored for a key (hexadecimal digits), or None.

        Where tokens are given, a ledger may at once reserve them and the US dollars for a request.
        """

    @abstractmethod
    async def reserve(self, tokens: int, usd: float | None = None) -> Reservation:
        """Reserve the most tokens and US dollars that a request may take.

        What is reserved counts as spent: a process that is killed may have been billed. A request
        that is cancelled here costs nothing. Of an unknown price the highest one so far is taken.

        Raises:
            BudgetExhaustedError: It could exceed the budget.
            UnknownPriceError: A budget is in US dollars, and no price is known.
            UnrecordableError: What is spent cannot be known or written down, or the disk may have
                no room for the reply.
        """

    @abstractmethod
    async def wait_for_rate_limit(self, reservation: Reservation) -> Reservation:
        """Wait until the server's pace and the limits of a minute let a request be sent."""

    @abstractmethod
    def patience(self) -> float:
        """Return the seconds after which a request counts as lost, by the pace of replies."""

    @abstractmethod
    async def commit(
        self,
        reservation: Reservation,
        tokens: float,
        usd: float | None,
        contents: Contents = (),
        failure: RequestError | None = None,
    ) -> None:
        """Replace a reservation by what its request took, and store replies, in one change.

        With replies it survives a loss of power. The price is None where it is unknown. By a
        failure, as by a reply, requests to come are sent sooner or later.

        Raises:
            UnrecordableError: The journal cannot be written; the reservation stays.
        """

    @abstractmethod
    async def close(self) -> None:
        """Let go of what the ledger holds open; the next call opens it again."""

    async def flush(self) -> None:  # noqa: B027 - where `commit` waits, there is no more to wait for
        """Wait until all that was committed is written; errors are those of `commit`."""

    async def abandon(self, reservation: Reservation, failure: RequestError | None = None) -> None:
        """Count a whole reservation as spent, since its request may be billed; else nothing."""
        tokens, usd, is_known = reservation.tokens, reservation.usd, reservation.is_priced
        if failure and not failure.may_be_billed:
            tokens, usd, is_known = 0, 0.0, True
        await self.commit(reservation, tokens, usd if is_known or usd else None, (), failure)

    async def wait_for(self, request: Coroutine[Any, Any, _Reply]) -> _Reply:
        """Return the reply to a request, after a wait that follows the server's pace.

        Raises:
            RequestError: It is lost.
        """
        started, patience_s = time.monotonic(), self._timeout_s
        asked = asyncio.create_task(request)
        try:
            while not (await asyncio.wait([asked], timeout=patience_s))[0]:
                patience_s = self.patience() - (time.monotonic() - started)
                if patience_s <= 0:
                    waited = f"no reply in {time.monotonic() - started:.3g} s"
                    raise RequestError(408, waited, may_be_billed=True)
            return asked.result()
        finally:
            asked.cancel()

    async def find(self, key: str, tokens: int = 0, usd: float | None = None) -> RawReply | None:
        """Return the reply that is stored for a key, or None; arguments as of `content`."""
        content = await self.content(key, tokens, usd)
        if content is None:
            return None
        try:
            reply = RawReply.model_validate_json(content)
        except ValidationError as error:
            [problem, *_] = str(error).splitlines()
            _log.warning(
                "the stored reply %s is no reply (%s): it will be requested again", key, problem
            )
            return None
        return None if reply.is_void else reply

    @asynccontextmanager
    async def asking(self, keys: Iterable[str]) -> AsyncIterator[None]:
        """Ask for replies inside the ``async with``, after those who ask for the same now.

        Once it is entered, these may have stored them. All enter in one order, so that none waits
        for another in a circle.
        """
        async with AsyncExitStack() as stack:
            for key in sorted(set(keys)):
                lock = self._asked.setdefault(key, asyncio.Lock())
                await stack.enter_async_context(lock)
            yield

    @asynccontextmanager
    async def reserved(
        self, tokens: int, usd: float | None, *, is_ahead: bool = False
    ) -> AsyncIterator[Commit]:
        """Reserve the most that a request may take; the block runs once it may be sent.

        The block gets a function that commits the tokens and the price that the request took, with
        its replies; a price of None counts as the highest one. Where it is not called, the
        reservation is abandoned, or given back after an error that says that nothing is billed.
        One that is ahead waits for none that waits for the server's pace. Errors and other
        arguments are those of `reserve`.
        """
        reservation = (await self.reserve(tokens, usd))._replace(is_ahead=is_ahead)
        try:
            if not reservation.has_turn:
                reservation = await self.wait_for_rate_limit(reservation)
        except BaseException:
            await self.commit(reservation, 0, 0.0)
            raise
        if self._is_stopped:
            await self.commit(reservation, 0, 0.0)
            raise asyncio.CancelledError
        is_committed, failure = False, None

        async def commit(
            tokens: float, cost: float | None, replies: Iterable[tuple[str, RawReply]] = ()
        ) -> None:
            nonlocal is_committed
            is_committed = True
            contents = packed((key, reply.model_dump_json().encode()) for key, reply in replies)
            await self.commit(reservation, tokens, usd if cost is None else cost, contents)

        try:
            yield commit
        except RequestError as error:
            error.is_last, failure = reservation.is_last, error
            raise
        finally:
            if not is_committed:
                await self.abandon(reservation, failure)


class JournalLedger(Ledger):
    """A model's ledger in a journal of this process.

    Other processes may write to the journal too: budgets hold for all of them together, the limits
    of requests and tokens a minute for this ledger.

    Args:
        journal: Has replies and the sums of all models.
        settings: The model, its limits and budget.
        run: The budget of the run that asks; None is one without a limit of its own.
    """

    def __init__(
        self, journal: Journal, settings: LanguageModelSettings, run: Budget | None = None
    ) -> None:
        super().__init__(settings)
        self._model = settings.model
        self._tokens_variable = f"{settings.variables}BUDGET_TOKENS"
        self._run = run or Budget()
        self._budgets = Budgets(settings, self._run)
        self._journal = journal
        self._has_room_until = 0.0
        self._numbers = count()
        self._in_flight: set[int] = set()  # reservations, those that are being made included
        self._rate_limiter = RateLimiter(settings)
        self._is_paced = bool(settings.requests_per_minute or settings.tokens_per_minute)
        self._limiter = Limiter(settings)
        self._short, self._given_back = asyncio.Lock(), asyncio.Event()  # of the budget

    async def content(self, key: str, tokens: int = 0, usd: float | None = None) -> bytes | None:  # noqa: ARG002
        """Return the content stored for a key."""
        return self._journal.find(key)

    async def reserve(self, tokens: int, usd: float | None = None) -> Reservation:
        """Reserve tokens and money."""
        try:
            return await self._reserve(tokens, usd)
        except UnrecordableError:
            raise
        except RunStopError:
            async with self._short:
                while self._in_flight:
                    self._given_back.clear()
                    await self._given_back.wait()
                    with suppress(RunStopError):
                        return await self._reserve(tokens, usd)
                return await self._reserve(tokens, usd)

    async def reserve_now(self, tokens: int, usd: float | None = None) -> Reservation:
        """Reserve, without a wait for what others give back; its turn may have come already."""
        made = await self._reserve(tokens, usd)
        return made._replace(has_turn=not self._is_paced and self._limiter.enter_now(made.number))

    async def wait_for_rate_limit(self, reservation: Reservation) -> Reservation:
        """Wait until a request may be sent."""
        number, paced_tokens = reservation.number, 0.0
        if not reservation.is_ahead:
            await self._limiter.enter(number)
        if self._is_paced:
            paced_tokens = await self._rate_limiter.wait(reservation.tokens)
        self._limiter.begin(number)
        if number not in self._in_flight:  # it was cancelled meanwhile, where nobody waits
            self._limiter.leave(number, is_reply=False)
        return reservation._replace(
            paced_tokens=paced_tokens, has_turn=True, is_last=self._limiter.is_away
        )

    def patience(self) -> float:
        """Return the seconds after which a request counts as lost."""
        return self._limiter.patience_s

    async def commit(
        self,
        reservation: Reservation,
        tokens: float,
        usd: float | None,
        contents: Contents = (),
        failure: RequestError | None = None,
    ) -> None:
        """Replace a reservation by what its request took."""
        self._limiter.leave(reservation.number, is_reply=bool(contents), failure=failure)
        if reservation.paced_tokens:
            self._rate_limiter.correct(reservation.paced_tokens, min(tokens, reservation.tokens))
        change = partial(self._commit, made=reservation, tokens=tokens, usd=usd, contents=contents)
        try:
            await asyncio.wrap_future(self._journal.write(change, durable=bool(contents)))
        finally:
            self._in_flight.discard(reservation.number)
            self._given_back.set()

    async def close(self) -> None:
        """Close the journal, once all that was handed over is written."""
        await asyncio.to_thread(self._journal.close)

    def left(self) -> tuple[float, float]:
        """Return the tokens and the US dollars that are left, infinite without a budget."""
        return self._budgets.left(self._journal.spent(self._model))

    def spent(self) -> tuple[int, float]:
        """Return tokens and US dollars of the run, over all its rounds, those reserved included."""
        tokens, usd = self._run.spent(self._journal.spent(self._model))
        return round(tokens), usd

    @property
    def trouble(self) -> str:
        """The obstacle of waiting requests, such as a silent server; "" if there is none."""
        return self._limiter.trouble

    async def _reserve(self, tokens: int, usd: float | None) -> Reservation:
        """Reserve tokens and money, if the budget and, as asked each second, the disk have room."""
        if time.monotonic() >= self._has_room_until:
            folder = self._journal.file.parent
            free_mb = free_bytes(folder) / 2**20
            if free_mb < _ROOM_MB:
                raise UnrecordableError(
                    f"the disk of {folder} has {free_mb:,.1f} MiB free, less than the {_ROOM_MB} "
                    "MiB that replies in flight may take: nothing more is requested; free some "
                    f"space or {OTHER_STORE}, then run the same command again"
                )
            self._has_room_until = time.monotonic() + _LOOK_S
        number, is_alone = next(self._numbers), not self._in_flight
        self._in_flight.add(number)
        change = partial(self._enter, number=number, tokens=tokens, usd=usd, is_alone=is_alone)
        writing = self._journal.write(change, durable=self._budgets.are_limited)
        try:
            return await asyncio.wrap_future(writing)
        except BaseException:
            self._in_flight.discard(number)
            self._given_back.set()
            writing.add_done_callback(self._give_back)
            raise

    def _enter(
        self, tx: sqlite3.Connection, number: int, tokens: int, usd: float | None, *, is_alone: bool
    ) -> Reservation:
        """Reserve; while no price is known one request goes alone, to learn it."""
        with money(tx, self._model) as spent:
            is_unknown = usd is None and not (spent.highest_usd or spent.unpriced)
            if is_unknown and self._budgets.are_in_usd and not is_alone:
                raise UnknownPriceError(
                    f"the price of {self._model} is unknown until its first reply states it: run "
                    f"the same command again once it has, or set {self._tokens_variable} instead "
                    "of a budget in US dollars"
                )
            price = spent.highest_usd if usd is None else usd
            self._budgets.refuse_beyond(spent, (tokens, price))
            spent.tokens += tokens
            spent.usd += price
        return Reservation(number, tokens, price, usd is not None)

    def _commit(
        self,
        tx: sqlite3.Connection,
        made: Reservation,
        tokens: float,
        usd: float | None,
        contents: Contents = (),
    ) -> None:
        keep_all(tx, contents)
        with money(tx, self._model) as spent:
            spent.tokens = max(0.0, spent.tokens + tokens - made.tokens)
            if usd is not None or not made.is_priced:
                spent.usd = max(0.0, spent.usd + (usd or 0.0) - made.usd)
                spent.unpriced += usd is None
            spent.highest_usd = max(spent.highest_usd, usd or 0.0)

    def _give_back(self, made: "Future[Reservation]") -> None:
        """Undo a reservation whose request was cancelled meanwhile; in the journal's thread."""
        if not made.exception():
            change = partial(self._commit, made=made.result(), tokens=0, usd=0.0)
            self._journal.write(change, durable=False)


class RateLimiter:
    """When requests may be sent, one after the other, by the limits of a minute.

    Args:
        settings: Requests and tokens a minute, each 0 for no limit.
    """

    def __init__(self, settings: LanguageModelSettings) -> None:
        requests, tokens = settings.requests_per_minute, settings.tokens_per_minute
        self._request_s = 60 / requests if requests else 0.0
        self._token_s = 60 / tokens if tokens else 0.0
        self._next_request = self._next_token = 0.0  # on the monotonic clock
        self._expected_tokens = 0.0  # that a request takes, a smoothed mean
        self._line = asyncio.Lock()

    async def wait(self, most_tokens: float) -> float:
        """Wait until a request may be sent; return the tokens that it counts for till it ends."""
        async with self._line:
            due, now = self._due(), time.monotonic()
            while due > now:
                await asyncio.sleep(min(due - now, _LONGEST_WAIT_S))
                due, now = self._due(), time.monotonic()
            sent = due if now - due < _LATE_S else now
            tokens = self._expected_tokens or most_tokens
            self._next_request = sent + self._request_s
            self._next_token = sent + tokens * self._token_s
            return tokens

    def correct(self, expected_tokens: float, tokens: float) -> None:
        """Let what a request took count in the place of what was expected of it."""
        self._next_token += (tokens - expected_tokens) * self._token_s
        self._next_token = min(self._next_token, time.monotonic() + _LONGEST_PAUSE_S)
        if tokens:
            mean = self._expected_tokens or tokens
            self._expected_tokens = _SMOOTHING * mean + (1 - _SMOOTHING) * tokens

    def _due(self) -> float:
        return max(self._next_request, self._next_token)


def journal_ledger(
    store: StoreSettings, llm: LanguageModelSettings, run: Budget | None = None
) -> JournalLedger:
    """Return a ledger of a model on a store's journal; see `JournalLedger`."""
    return JournalLedger(Journal(store.journal), llm, run)
