"""The reservations of one client: each request's price is reserved before it is sent."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager, suppress

from agents.llm.cache import RawReply
from agents.llm.question import TokenLimits
from agents.llm.rate_limit import SharedLimiter, Ticket
from infra.errors import BudgetExhaustedError

_LOOK_S = 0.5  # between looks at what other processes have in flight
_LONG_S = 60.0  # a wait that is worth a warning
_LONGEST_WAIT_S = 1.0  # then others may have taken fewer tokens than expected

_log = logging.getLogger(__name__)

Settle = Callable[..., Awaitable[None]]  # tokens, US dollars, replies: see `SharedLimiter.settle`


class Reservations:
    """Reserves tokens and money for requests, and waits for other reservations.

    A reservation is what a request may cost at most, which is several times what it usually costs.
    So where the budget has no room for another, but requests are in flight, of this client or of
    another process, the next one waits until they are settled; the budget is spent when none is
    left to wait for. Other processes may ask without a pause: they are waited for only as long as a
    request may take.

    Args:
        limiter: Keeps what is spent on a model, for all processes together, and its limits.
        price_of: The price of a request that takes so many tokens, None if the model has none.
    """

    def __init__(
        self, limiter: SharedLimiter, price_of: Callable[[TokenLimits], float | None]
    ) -> None:
        self._limiter = limiter
        self._price_of = price_of
        self._in_flight = 0  # those that are being reserved included
        self._shown = ExitStack()  # what tells other processes of requests in flight
        self._settled = asyncio.Event()
        self._refused = asyncio.Lock()  # requests without room wait in order
        self._line = asyncio.Lock()  # requests take their turns in order
        self._has_warned = False
        self._has_warned_of_wait = False

    @asynccontextmanager
    async def reserved(self, limits: TokenLimits) -> AsyncIterator[Settle]:
        """Reserve a request's tokens and price, and wait until it may be sent.

        The block gets a function that replaces the reservation by the tokens and the price that the
        request took, and keeps its replies in the same change; a price that is not told counts as
        that of its limits, where the model has one. Where it is not called, the reservation stays:
        the request may be billed. If nothing could be reserved of its price, that counts as not
        told.

        Raises:
            BudgetExhaustedError: The request could exceed the budget.
        """
        ticket = await self._reserve(limits)
        is_settled = False

        async def settle(
            tokens: float, usd: float | None, replies: Iterable[tuple[str, RawReply]] = ()
        ) -> None:
            nonlocal is_settled
            is_settled = True
            usd = self._price_of(limits) if usd is None else usd
            await asyncio.wrap_future(self._limiter.settle(ticket, tokens, usd, replies))

        try:
            ticket = await self._turn(ticket)
            try:
                yield settle
            except Exception:
                has_budget = self._limiter.is_in_usd
                is_reserved = ticket.is_priced or ticket.usd
                # Without a budget in dollars a price that is not known bars no later one: a reply
                # may tell.
                if not (is_settled or is_reserved) and (
                    has_budget or self._price_of(limits) is not None
                ):
                    await settle(limits.total, None)
                raise
        finally:
            self._leave()

    def _enter(self) -> None:
        if not self._in_flight:
            self._shown.enter_context(self._limiter.in_flight())
        self._in_flight += 1

    def _leave(self) -> None:
        self._in_flight -= 1
        if not self._in_flight:
            self._shown.close()
        self._settled.set()
        self._settled = asyncio.Event()

    async def _reserve(self, limits: TokenLimits) -> Ticket:
        usd = self._price(limits)
        if usd is not None or not self._limiter.is_in_usd:
            with suppress(BudgetExhaustedError):
                return await self._reserve_now(limits, usd)
        is_idle, waited_s = False, 0.0
        async with self._refused:
            while True:
                try:
                    if not await self._is_first_to_go(usd):
                        continue
                    return await self._reserve_now(limits, usd)
                except BudgetExhaustedError:
                    if is_idle or waited_s >= self._limiter.settings.timeout_s:
                        raise
                    if self._in_flight:
                        await self._settled.wait()
                    elif not (is_idle := self._limiter.is_idle()):
                        await asyncio.sleep(_LOOK_S)
                        waited_s += _LOOK_S  # once idle, one more try: all is settled

    async def _is_first_to_go(self, usd: float | None) -> bool:
        """Return whether a request may go; where no price is known one goes alone, to learn it."""
        has_budget = self._limiter.is_in_usd
        if usd is not None or not has_budget or self._limiter.knows_of_prices():
            return True
        if self._in_flight:
            await self._settled.wait()
            return False
        if not self._limiter.is_idle():
            await asyncio.sleep(_LOOK_S)
            return False
        return True

    async def _reserve_now(self, limits: TokenLimits, usd: float | None) -> Ticket:
        """Reserve for a request that is in flight from now on, which is shown before."""
        self._enter()
        reserved = self._limiter.reserve(limits.total, usd)
        try:
            return await asyncio.wrap_future(reserved)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                reserved.add_done_callback(self._give_back)
            self._leave()
            raise

    def _give_back(self, reserved: "Future[Ticket]") -> None:
        if not reserved.exception():
            self._limiter.settle(reserved.result(), 0, 0.0)

    async def _turn(self, ticket: Ticket) -> Ticket:
        """Wait until a request may be sent; one that is cancelled meanwhile costs nothing."""
        try:
            async with self._line:
                while self._limiter.is_paced:
                    taken = self._limiter.take_turn(ticket)
                    wait_s, ticket = await asyncio.wrap_future(taken)
                    if not wait_s:
                        break
                    self._warn_of(wait_s)
                    await asyncio.sleep(min(wait_s, _LONGEST_WAIT_S))
        except asyncio.CancelledError:
            self._limiter.settle(ticket, 0, 0.0)
            raise
        return ticket

    def _warn_of(self, wait_s: float) -> None:
        if wait_s > _LONG_S and not self._has_warned_of_wait:
            self._has_warned_of_wait = True
            settings = self._limiter.settings
            _log.warning(
                "the limits of %s make the next request wait for %.0f s: see "
                "%sREQUESTS_PER_MINUTE and %sTOKENS_PER_MINUTE",
                settings.model, wait_s, settings.variables, settings.variables,
            )  # fmt: skip

    def _price(self, limits: TokenLimits) -> float | None:
        """Return what a request may cost, None without a budget in dollars or a known price."""
        if not self._limiter.is_in_usd:
            return None
        settings, usd = self._limiter.settings, self._price_of(limits)
        if usd is None and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "the price of %s is unknown: until the first reply states it, nothing can be "
                "reserved of %sBUDGET_USD, and one request goes alone",
                settings.model,
                settings.variables,
            )
        return usd
