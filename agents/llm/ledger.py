"""The ledger of a model: replies that were paid for, what was spent, and the pace of requests.

`Ledger` is all that a client of a model knows of it. `JournalLedger` works on a store's journal in
this process; `tasks.runtime.journal_owner` has the ledger of a Ray worker, which asks the process
that owns the journal.
"""

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import count, islice
from typing import NamedTuple
from weakref import WeakValueDictionary

from pydantic import ValidationError

from agents.llm.question import TokenLimits
from agents.llm.reply import RawReply
from infra.budget import Budget, budgets_of, refuse_beyond
from infra.disk import OTHER_STORE, free_bytes
from infra.errors import BudgetExhaustedError, UnrecordableError
from infra.identity import mark
from infra.journal import Journal, Transaction, keep_all, money, packed
from infra.settings import LanguageModelSettings, StoreSettings

_SMOOTHING = 0.95  # weight of the mean of earlier requests against the last one
_LATE_S = 0.1  # a turn that is taken so much too late does not put off the next one
_SKEW_S = 60.0  # clocks that differ by more have jumped
_LONGEST_PAUSE_S = 3_600.0  # that tokens which were spent may put off a request
_LONGEST_WAIT_S = 1.0  # then requests may have taken fewer tokens than expected
_LONG_S = 60.0  # a wait that is worth a warning
_ROOM_MB = 64  # what replies in flight may take on the disk
_LOOK_S = 1.0  # between looks at it

_log = logging.getLogger(__name__)

Contents = Sequence[tuple[bytes, bytes]]
Commit = Callable[..., Awaitable[None]]  # tokens, US dollars, replies: see `Ledger.reserved`


class Reservation(NamedTuple):
    """What one request may take; it counts as spent until what it took is known.

    Attributes:
        number: Tells it from the others of its ledger.
        tokens: The most tokens.
        usd: The most US dollars; the highest price so far where the model's is unknown.
        is_priced: Whether that follows from the model's price.
        paced_tokens: Tokens that count for the limit of tokens a minute.
    """

    number: int
    tokens: float
    usd: float
    is_priced: bool
    paced_tokens: float


class Ledger(ABC):
    """A model's ledger, as its clients see it.

    A reservation is what a request may cost at most, which is several times what it usually costs.
    A request is refused where the budget has no room for it beside those in flight.

    Args:
        settings: Model, address and key; limits and budget.
        run: The budget of the run that asks.

    Attributes:
        settings: The model.
        budgets: All that hold for its requests.
        is_in_usd: Whether one of them is in US dollars.
    """

    def __init__(self, settings: LanguageModelSettings, run: Budget) -> None:
        self.settings = settings
        self.budgets = budgets_of(settings, run)
        self.is_in_usd = any(budget.limit_usd is not None for budget in self.budgets)
        self._asked: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._warnings: set[str] = set()
        self._is_stopped = False

    def stop(self) -> None:
        """Let no more requests be sent: who reserves now, or waits for that, is cancelled."""
        self._is_stopped = True

    @abstractmethod
    async def content(self, key: str) -> bytes | None:
        """Return what is kept for a key (hexadecimal digits), or None.

        Raises:
            UnrecordableError: The journal cannot be read.
        """

    @abstractmethod
    async def reserve(self, tokens: int, usd: float | None = None) -> Reservation:
        """Reserve tokens and money for a request, and wait until it may be sent.

        What is reserved counts as spent: a process that is killed may have been billed. A request
        that is cancelled here costs nothing.

        Args:
            tokens: The most that the request may take.
            usd: The most that it may cost; where unknown, the highest price so far.

        Raises:
            BudgetExhaustedError: It could exceed the budget, or no price is known.
            UnrecordableError: What is spent cannot be known or written down, or the disk may have
                no room for the reply.
        """

    @abstractmethod
    async def commit(
        self, reservation: Reservation, tokens: float, usd: float | None, contents: Contents = ()
    ) -> None:
        """Replace a reservation by what its request took, and keep replies, in one change.

        With replies it survives a loss of power.

        Args:
            reservation: The reservation.
            tokens: What the provider counted, or the reservation where it did not.
            usd: The price; None where it is unknown.
            contents: Keys and replies, as the journal keeps them.

        Raises:
            UnrecordableError: The journal cannot be written; the reservation stays.
        """

    @abstractmethod
    async def abandon(self, reservation: Reservation) -> None:
        """Let a reservation stay, since its request may be billed.

        If nothing could be reserved of its price, that counts as not told.
        """

    @abstractmethod
    async def close(self) -> None:
        """Let go of what the ledger holds open; the next call opens it again."""

    @abstractmethod
    async def flush(self) -> None:
        """Wait until all that was committed is written; errors are those of `commit`."""

    async def find(self, key: str) -> RawReply | None:
        """Return the reply that is kept for a key, or None; errors as in `content`."""
        content = await self.content(key)
        if content is None:
            return None
        try:
            return RawReply.model_validate_json(content)
        except ValidationError as error:
            [problem, *_] = str(error).splitlines()
            _log.warning(
                "the kept reply %s is no reply (%s): it will be requested again", key, problem
            )
            return None

    @asynccontextmanager
    async def asking(self, keys: Iterable[str]) -> AsyncIterator[None]:
        """Ask for replies inside the ``async with``, after those who ask for the same now.

        Once it is entered, these may have kept them. All enter in one order, so that none waits for
        another in a circle.
        """
        async with AsyncExitStack() as stack:
            for key in sorted(set(keys)):
                lock = self._asked.setdefault(key, asyncio.Lock())
                await stack.enter_async_context(lock)
            yield

    @asynccontextmanager
    async def reserved(
        self, limits: TokenLimits, price: Callable[[], float | None]
    ) -> AsyncIterator[Commit]:
        """Reserve a request's tokens and price; the block runs once it may be sent.

        The block gets a function that commits the tokens and the price that the request took, with
        its replies; a price that is not told counts as the highest one. Where it is not called,
        the reservation is abandoned. Errors are those of `reserve`.

        Args:
            limits: The most tokens of the request.
            price: Returns what they cost, None where the model's price is unknown. It is asked
                where a budget is in US dollars, or no price was told.
        """
        usd = price() if self.is_in_usd else None
        if usd is None and self.is_in_usd:
            self._warn(
                f"the price of {self.settings.model} is unknown: until the first reply states it, "
                f"nothing can be reserved of {self.settings.variables}BUDGET_USD, and one request "
                "goes alone"
            )
        alarm = asyncio.get_running_loop().call_later(_LONG_S, self._warn_of_wait)
        try:
            reservation = await self.reserve(limits.total, usd)
        finally:
            alarm.cancel()
        if self._is_stopped:
            await self.commit(reservation, 0, 0.0)
            raise asyncio.CancelledError
        is_committed = False

        async def commit(
            tokens: float, told: float | None, replies: Iterable[tuple[str, RawReply]] = ()
        ) -> None:
            nonlocal is_committed
            is_committed = True
            contents = packed((key, reply.model_dump_json().encode()) for key, reply in replies)
            await self.commit(reservation, tokens, price() if told is None else told, contents)

        try:
            yield commit
        finally:
            if not is_committed and not self.is_in_usd and (most := price()):
                await self.commit(reservation, reservation.tokens, most)
            elif not is_committed:
                await self.abandon(reservation)

    def _warn_of_wait(self) -> None:
        settings = self.settings
        self._warn(
            f"the limits of {settings.model} make requests wait for more than {_LONG_S:.0f} s: see "
            f"{settings.variables}REQUESTS_PER_MINUTE and {settings.variables}TOKENS_PER_MINUTE"
        )

    def _warn(self, warning: str) -> None:
        """Log a warning, each once."""
        if warning not in self._warnings:
            self._warnings.add(warning)
            _log.warning(warning)


class JournalLedger(Ledger):
    """A model's ledger in a journal of this process.

    Other processes may write to the journal too: budgets and paces hold for all of them together.

    Args:
        journal: Has replies, the sums of all models and the paces of all keys.
        settings: Model, address and key; limits and budget.
        run: The budget of the run that asks; None is one without a limit of its own.
    """

    def __init__(
        self, journal: Journal, settings: LanguageModelSettings, run: Budget | None = None
    ) -> None:
        self._run = run or Budget()
        super().__init__(settings, self._run)
        self._has_budget = self.is_in_usd or settings.budget_tokens is not None
        key = settings.api_key.get_secret_value() if settings.api_key else ""
        self._account = mark("pace", settings.model, settings.base_url or "", key)
        self._journal = journal
        self._has_room_until = 0.0
        self._numbers = count()
        self._in_flight: set[int] = set()  # reservations, those that are being made included
        self._line: dict[int, float] = {}  # reservations that wait for their turn → tokens
        self._pacing = asyncio.Lock()

    async def content(self, key: str) -> bytes | None:
        """Return what is kept for a key."""
        return self._journal.find(key)

    async def reserve(self, tokens: int, usd: float | None = None) -> Reservation:
        """Reserve tokens and money, and wait for the request's turn."""
        self._check_room()
        reservation = await self._reserve(tokens, usd)
        try:
            await self._take_turn(reservation)
        except BaseException:
            self._undo(reservation)
            self._in_flight.discard(reservation.number)
            raise
        return reservation

    async def commit(
        self, reservation: Reservation, tokens: float, usd: float | None, contents: Contents = ()
    ) -> None:
        """Replace a reservation by what its request took."""
        change = partial(self._commit, made=reservation, tokens=tokens, usd=usd, contents=contents)
        try:
            await asyncio.wrap_future(self._journal.write(change, durable=bool(contents)))
        finally:
            self._in_flight.discard(reservation.number)

    async def abandon(self, reservation: Reservation) -> None:
        """Let a reservation stay."""
        if self.is_in_usd and not (reservation.is_priced or reservation.usd):
            await self.commit(reservation, reservation.tokens, None)
        self._in_flight.discard(reservation.number)

    async def flush(self) -> None:
        """Wait for nothing: here `commit` has waited."""

    async def close(self) -> None:
        """Close the journal, once all that was handed over is written."""
        await asyncio.to_thread(self._journal.close)

    def left(self) -> tuple[float, float]:
        """Return the tokens and the US dollars that are left, infinite without a budget."""
        spent = self._journal.spent(self.settings.model)
        tokens, usd = zip(*(budget.left(spent) for budget in self.budgets), strict=True)
        return min(tokens), min(usd)

    def spent(self) -> tuple[int, float]:
        """Return tokens and US dollars of the model, those reserved included."""
        spent = self._journal.spent(self.settings.model)
        return round(spent.tokens), spent.usd

    def spent_by_run(self) -> tuple[int, float]:
        """Return tokens and US dollars of the run, over all its rounds, those reserved included."""
        tokens, usd = self._run.spent(self._journal.spent(self.settings.model))
        return round(tokens), usd

    def _check_room(self) -> None:
        """Refuse requests whose replies might find no room, as looked at each second."""
        if time.monotonic() < self._has_room_until:
            return
        folder = self._journal.file.parent
        free_mb = free_bytes(folder) / 2**20
        if free_mb < _ROOM_MB:
            raise UnrecordableError(
                f"the disk of {folder} has {free_mb:,.1f} MiB free, less than the {_ROOM_MB} MiB "
                "that replies in flight may take: nothing more is requested; free some space or "
                f"{OTHER_STORE}, then run the same command again"
            )
        self._has_room_until = time.monotonic() + _LOOK_S

    # Money.

    async def _reserve(self, tokens: int, usd: float | None) -> Reservation:
        number, is_alone = next(self._numbers), not self._in_flight
        self._in_flight.add(number)
        change = partial(self._enter, number=number, tokens=tokens, usd=usd, is_alone=is_alone)
        writing = self._journal.write(change, durable=self._has_budget)
        try:
            return await asyncio.wrap_future(writing)
        except asyncio.CancelledError:

            def give_back(made: "Future[Reservation]") -> None:  # in the journal's thread
                if not made.exception():
                    self._undo(made.result())

            writing.add_done_callback(give_back)
            self._in_flight.discard(number)
            raise
        except BaseException:
            self._in_flight.discard(number)
            raise

    def _enter(
        self, tx: Transaction, number: int, tokens: int, usd: float | None, *, is_alone: bool
    ) -> Reservation:
        """Reserve; while no price is known one request goes alone, to learn it."""
        expected = self._pace(tx)[-1] if self.settings.tokens_per_minute else 0.0
        with money(tx, self.settings.model) as spent:
            is_untold = usd is None and not (spent.dearest_usd or spent.unpriced)
            if is_untold and self.is_in_usd and not is_alone:
                raise BudgetExhaustedError(
                    f"the price of {self.settings.model} is unknown until its first reply states "
                    "it: run the same command again once it has, or set "
                    f"{self.settings.variables}BUDGET_TOKENS instead of a budget in US dollars"
                )
            price = spent.dearest_usd if usd is None else usd
            refuse_beyond(self.budgets, spent, self.settings, (tokens, price))
            spent.tokens += tokens
            spent.usd += price
        return Reservation(number, tokens, price, usd is not None, expected or tokens)

    def _commit(
        self,
        tx: Transaction,
        made: Reservation,
        tokens: float,
        usd: float | None,
        contents: Contents = (),
    ) -> None:
        keep_all(tx, contents)
        with money(tx, self.settings.model) as spent:
            spent.tokens = max(0.0, spent.tokens + tokens - made.tokens)
            if usd is not None or not made.is_priced:
                spent.usd = max(0.0, spent.usd + (usd or 0.0) - made.usd)
                spent.unpriced += usd is None
            spent.dearest_usd = max(spent.dearest_usd, usd or 0.0)
        if self.settings.tokens_per_minute and made.paced_tokens:
            took = min(tokens, made.tokens)
            last_turn, next_token, expected = self._pace(tx)
            next_token += self._seconds_for(took - made.paced_tokens)
            if took:
                expected = _SMOOTHING * (expected or took) + (1 - _SMOOTHING) * took
            self._set_pace(tx, last_turn, max(0.0, next_token), expected)

    def _undo(self, reservation: Reservation) -> None:
        """Undo a reservation of a request that had no turn."""
        unpaced = reservation._replace(paced_tokens=0.0)
        self._journal.write(partial(self._commit, made=unpaced, tokens=0, usd=0.0), durable=False)

    # The pace: requests and tokens a minute, of all who use a key.

    async def _take_turn(self, reservation: Reservation) -> None:
        """Wait until a request may be sent; the first in line takes the turns of all."""
        if not (self.settings.requests_per_minute or self.settings.tokens_per_minute):
            return
        number, line = reservation.number, self._line
        line[number] = reservation.paced_tokens
        try:
            async with self._pacing:
                while number in line:
                    waiting = dict(line)
                    change = partial(self._take_turns, tokens=[*waiting.values()])
                    writing = self._journal.write(change, durable=False)
                    taken, wait_s = await asyncio.wrap_future(writing)
                    for due in islice(waiting, taken):
                        line.pop(due, None)
                    if number in line:
                        await asyncio.sleep(min(wait_s, _LONGEST_WAIT_S))
        finally:
            line.pop(number, None)

    def _take_turns(self, tx: Transaction, tokens: Sequence[float]) -> tuple[int, float]:
        """Return how many requests, given the tokens of each, may be sent now, and when others may.

        The latter is in seconds from now.
        """
        rate, now = self.settings.requests_per_minute, time.time()
        last_turn, next_token, expected = self._pace(tx)
        if (ahead := last_turn - now) > _SKEW_S:
            last_turn, next_token = last_turn - ahead, next_token - ahead
        next_token = max(0.0, min(next_token, now + _LONGEST_PAUSE_S))
        taken, wait_s = 0, 0.0
        for number in tokens:
            due = max(last_turn + (60 / rate if rate else 0.0), next_token)
            if due > now:
                wait_s = due - now
                break
            last_turn = due if now - due < _LATE_S else now
            next_token = last_turn + self._seconds_for(number)
            taken += 1
        self._set_pace(tx, last_turn, next_token, expected)
        return taken, wait_s

    def _seconds_for(self, tokens: float) -> float:
        rate = self.settings.tokens_per_minute
        return tokens * 60 / rate if rate else 0.0

    def _pace(self, tx: Transaction) -> tuple[float, float, float]:
        """Return when the last turn was, when tokens allow another, and what a request takes.

        These are seconds since 1970, and the smoothed mean of tokens.
        """
        query = "SELECT last_turn, next_token, expected_tokens FROM paces WHERE account = ?"
        found: tuple[float, float, float] | None = tx.execute(query, [self._account]).fetchone()
        return found or (0.0, 0.0, 0.0)

    def _set_pace(self, tx: Transaction, *numbers: float) -> None:
        tx.execute("INSERT OR REPLACE INTO paces VALUES (?, ?, ?, ?)", (self._account, *numbers))


def journal_ledger(
    store: StoreSettings, llm: LanguageModelSettings, run: Budget | None = None
) -> JournalLedger:
    """Return a ledger of a model on a store's journal; see `JournalLedger`."""
    return JournalLedger(Journal(store.journal), llm, run)
