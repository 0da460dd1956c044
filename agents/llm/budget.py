"""The budget of one client, from which each request's price is reserved before it is sent."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple

from agents.llm.rate_limit import SharedLimiter, Ticket
from infra.errors import BudgetExhaustedError
from infra.settings import LanguageModelSettings

_log = logging.getLogger(__name__)

Settle = Callable[[float, float | None], None]


class TokenLimits(NamedTuple):
    """The most tokens that a request may take."""

    prompt: int
    completion: int

    @property
    def total(self) -> int:
        """Both together."""
        return self.prompt + self.completion


class Budget:
    """Reserves tokens and money for requests, and waits for a client's own reservations.

    A reservation is what a request may cost at most, which is several times what it usually costs.
    So where the budget has no room for another, but requests of this client are in flight, the next
    one waits until they are settled; the budget is spent when none is left to wait for.

    Args:
        settings: The model and the budget.
        limiter: Keeps what is spent, for all processes together.
        price_of: The price of a request that takes so many tokens, None if the model has none.
    """

    def __init__(
        self,
        settings: LanguageModelSettings,
        limiter: SharedLimiter,
        price_of: Callable[[TokenLimits], float | None],
    ) -> None:
        self._settings = settings
        self._limiter = limiter
        self._price_of = price_of
        self._in_flight = 0
        self._settled = asyncio.Event()
        self._has_warned = False

    @asynccontextmanager
    async def reserved(self, limits: TokenLimits) -> AsyncIterator[Settle]:
        """Reserve a request's tokens and price, and wait until it may be sent.

        The block gets a function that replaces the reservation by the tokens and the price that the
        request took. Where it is not called, the reservation stays: the request may be billed.

        Raises:
            BudgetExhaustedError: The request could exceed the budget.
        """
        ticket = await self._reserve(limits)
        self._in_flight += 1
        try:
            if ticket.wait_s:
                await asyncio.sleep(ticket.wait_s)
            yield partial(self._limiter.settle, ticket)
        finally:
            self._in_flight -= 1
            self._settled.set()
            self._settled = asyncio.Event()

    async def _reserve(self, limits: TokenLimits) -> Ticket:
        usd = self._price(limits)
        while True:
            try:
                return self._limiter.reserve(limits.total, usd)
            except BudgetExhaustedError:
                if not self._in_flight:
                    raise
                await self._settled.wait()

    def _price(self, limits: TokenLimits) -> float | None:
        """Return what a request may cost, None without a budget in dollars or a known price."""
        if self._settings.budget_usd is None:
            return None
        usd = self._price_of(limits)
        if usd is None and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "the price of %s is unknown: until the first reply states it, nothing can be "
                "reserved of %sBUDGET_USD",
                self._settings.model,
                self._settings.variables,
            )
        return usd
