"""What all workers of one key share: when the next request may start, and what was spent.

A small file under a lock, beside the replies that the workers share anyway. Dividing the limits
among workers instead would waste what the idle ones don't use, since shards come and go.
"""

import fcntl
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.errors import BudgetExhaustedError
from infra.identity import digest
from infra.records import Record
from infra.settings import LanguageModelSettings

_MEMORY = 0.95  # of what requests usually take, against what the last one took
_LAYOUT = struct.Struct("<7d")


@dataclass
class _Balance:
    """The file's content; the moments are seconds since 1970."""

    next_request: float = 0.0
    next_token: float = 0.0
    tokens: float = 0.0
    usd: float = 0.0
    dearest_usd: float = 0.0
    unpriced: float = 0.0
    usual_tokens: float = 0.0


class Ticket(Record):
    """Leave to send one request, and what it was expected to take."""

    wait_s: float
    tokens: float
    paced_tokens: float
    usd: float


class Ledger:
    """Paces requests and counts what they cost, over all processes that share its folder.

    Args:
        folder: Where the ledgers of all keys are.
        settings: Model and key, by whose digest the file is named; limits and budget.
    """

    def __init__(self, folder: Path, settings: LanguageModelSettings) -> None:
        key = settings.api_key.get_secret_value() if settings.api_key else ""
        name = digest("ledger", settings.model, settings.base_url or "", key)
        self._file = folder / name
        self._settings = settings

    def reserve(self, tokens: int) -> Ticket:
        """Enter a request that may take so many tokens, and say how long it must wait.

        What is reserved counts as spent: a process that is killed may have been billed.

        Raises:
            BudgetExhaustedError: The request could exceed what may be spent, or what was spent
                cannot be known.
        """
        settings, now = self._settings, time.time()
        with self._balance() as balance:
            self._refuse_beyond_budget(balance, tokens)
            start = max(now, balance.next_request, balance.next_token)
            if settings.requests_per_minute:
                balance.next_request = start + 60 / settings.requests_per_minute
            paced = balance.usual_tokens or tokens  # the limit of a reply is rarely reached
            balance.next_token = start + self._seconds_for(paced)
            balance.tokens += tokens
            balance.usd += balance.dearest_usd
            return Ticket(
                wait_s=start - now, tokens=tokens, paced_tokens=paced, usd=balance.dearest_usd
            )

    def settle(self, ticket: Ticket, tokens: float, usd: float | None) -> None:
        """Put what a request took, its price None if unknown, in place of what was expected."""
        with self._balance() as balance:
            balance.next_token += self._seconds_for(tokens - ticket.paced_tokens)
            if tokens:
                usual = balance.usual_tokens or tokens
                balance.usual_tokens = _MEMORY * usual + (1 - _MEMORY) * tokens
            balance.tokens += tokens - ticket.tokens
            balance.usd += (usd or 0.0) - ticket.usd
            balance.dearest_usd = max(balance.dearest_usd, usd or 0.0)
            balance.unpriced += usd is None

    def spent(self) -> tuple[int, float]:
        """Return tokens and US dollars, those reserved included."""
        with self._balance() as balance:
            return round(balance.tokens), balance.usd

    def _refuse_beyond_budget(self, balance: _Balance, tokens: int) -> None:
        settings = self._settings
        if settings.budget_usd is not None and balance.unpriced:
            raise BudgetExhaustedError(
                f"the price of {settings.model} is unknown, so COSQA_LLM__BUDGET_USD cannot be "
                "kept: set COSQA_LLM__BUDGET_TOKENS instead"
            )
        limits = (
            ("COSQA_LLM__BUDGET_TOKENS", settings.budget_tokens, balance.tokens, tokens),
            ("COSQA_LLM__BUDGET_USD", settings.budget_usd, balance.usd, balance.dearest_usd),
        )
        for name, limit, spent, more in limits:
            if limit is not None and spent + more > limit:
                raise BudgetExhaustedError(
                    f"{spent:,.6g} of {name}={limit:,.6g} are spent on {settings.model} and the "
                    f"next request may take {more:,.6g}: what was judged is stored; run the same "
                    "command again with a higher budget to go on"
                )

    def _seconds_for(self, tokens: float) -> float:
        rate = self._settings.tokens_per_minute
        return tokens * 60 / rate if rate else 0.0

    @contextmanager
    def _balance(self) -> Iterator[_Balance]:
        """Read the file and write it back, with everybody else shut out meanwhile."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            content = os.pread(handle, _LAYOUT.size, 0)
            known = len(content) == _LAYOUT.size
            balance = _Balance(*_LAYOUT.unpack(content)) if known else _Balance()
            yield balance
            os.pwrite(handle, _LAYOUT.pack(*vars(balance).values()), 0)
        finally:
            os.close(handle)  # and with it the lock
